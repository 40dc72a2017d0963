internal import SkyrowModel
internal import SkyrowPostgres
internal import SkyrowQuery

/// The condition on the stored record that a save requires, `_if` on the wire.
enum SaveCondition {
    /// Returns the condition on the row `r`. If it is false or NULL, the record is not saved.
    ///
    /// Throws `108 InvalidArgument` for a condition on a record that must be new, for a condition on other records, and for what
    /// is invalid in the predicate of a query; `info.path` begins with `_if`.
    static func sql(
        _ predicate: RecordPredicate,
        of draft: RecordDraft,
        on table: RecordTable,
        in catalog: SchemaCatalog,
        _ access: RecordAccess?
    ) throws(SkyrowError) -> SQL {
        guard draft.precondition != .isNew, let access else {
            throw SkyrowError.invalidArgument(
                "A save that requires a new record cannot have a condition on the stored one.",
                "_if"
            )
            .at("_if")
        }
        let visible = table.visible(to: access.fields)
        var resolver = Resolver(schema: catalog.visible(to: access.fields), root: visible, access: access)
        resolver.isAboutOneRecord = true
        do throws(SkyrowError) {
            let resolved = try resolver.predicate(predicate)
            guard resolver.joins.isEmpty, !resolved.needsOtherRecords else {
                throw SkyrowError.invalidArgument(
                    "The condition of a save can only use the record's own fields.",
                    "_if"
                ).at("predicate")
            }
            return QueryText(visible, resolver).matches(resolved)
        } catch {
            guard let path = error.path, path.hasPrefix("predicate") else { throw error }
            throw error.replacingPath(with: "_if" + path.dropFirst("predicate".count))
        }
    }
}
