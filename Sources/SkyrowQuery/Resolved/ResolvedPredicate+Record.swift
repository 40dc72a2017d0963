extension ResolvedQuery {
    /// Whether ``MemoryInterpreter`` can evaluate the query for a record from that record alone.
    package var isAboutRecordsAlone: Bool {
        guard !needsOtherRecords, let predicate else { return !needsOtherRecords }
        return !predicate.needsDatabase && !predicate.leadsToRelations
    }
}
