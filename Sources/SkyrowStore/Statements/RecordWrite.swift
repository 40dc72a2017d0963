package import SkyrowModel

/// One record of a request as it will be written: its ids settled, its values checked against their columns.
package struct RecordWrite: Sendable {
    /// Where the record stands in the request.
    package let index: Int
    package let id: RecordID
    package let table: RecordTable
    /// nil when the draft has no list, which keeps the stored one.
    package internal(set) var access: AccessList?
    package let precondition: SavePrecondition?
    /// The columns to set by their place in the table, in that order, and their values.
    package let columns: [Int]
    package let values: [RecordValue]
    /// The number of records before it in the request that have the same id.
    package let round: Int

    /// What the statement's text depends on.
    package var shape: SaveShape {
        let kind: SaveShape.Kind
        switch (precondition, table.rules.origin) {
        case (.revision, _): kind = .updateOfRevision
        case (.isNew, .saves): kind = .insert
        case (nil, .saves): kind = .upsert
        case (.isNew, .accounts), (nil, .accounts): kind = .update
        }
        return SaveShape(kind: kind, columns: columns, setsAccess: access != nil)
    }
}

/// The form of a save: records of one type and shape go into one statement.
package struct SaveShape: Hashable, Sendable {
    package enum Kind: Hashable, Sendable {
        /// Creates the record or changes it.
        case upsert
        /// Creates the record, `"_if_revision": "new"`.
        case insert
        /// Changes the record.
        case update
        /// Changes the record when it has a certain revision.
        case updateOfRevision
    }

    package var kind: Kind
    package var columns: [Int]
    package var setsAccess: Bool
}

extension RecordColumn {
    /// The value as this column takes it; nil leaves the column alone.
    ///
    /// Throws `114 IncompatibleSchema` for a value of another type and `108 InvalidArgument` for one that does not fit.
    package func accepted(_ value: RecordValue) throws(SkyrowError) -> RecordValue? {
        guard isWritable else { throw conflict("can be read only") }
        switch type.admission(of: value) {
        case .fits: break
        case .fitsWidened: throw misfit("holds integers")
        case .conflicts: throw conflict("is of the type \(type.name)")
        }
        if case .null = value { return value }
        do throws(FieldMisfit) { return try type.column.accepted(value) } catch { throw misfit(error.reason) }
    }

    private func misfit(_ reason: String) -> SkyrowError {
        .invalidArgument("The value does not fit: the field \(field) \(reason).", field.rawValue)
    }

    private func conflict(_ reason: String) -> SkyrowError {
        SkyrowError(
            .incompatibleSchema,
            "The value does not fit: the field \(field) \(reason).",
            info: ["arguments": .list([.string(field.rawValue)])]
        )
    }
}
