package import SkyrowModel

extension RecordStore {
    /// Throws `111 NotSupported` for a large type without an index on `(_database, _revision)`: each look for its changes would
    /// read the whole table.
    package func requireFollowing(_ table: RecordTable) throws(SkyrowError) {
        guard size(of: table.name) > QueryAdvice.largeTable,
            !table.indexes.contains(where: \.leadsToRevisions)
        else { return }
        throw SkyrowError(
            .notSupported,
            "The changes of \(table.name) are not found without an index, since it has many records. With psql: "
                + "CREATE INDEX CONCURRENTLY ON \"\(table.name)\" (_database, _revision)"
        )
    }
}

extension TableIndex {
    /// Whether the rows of a database are found by it in the order of their revisions.
    fileprivate var leadsToRevisions: Bool {
        isValid && condition == nil && columns.starts(with: ["_database", "_revision"])
    }
}
