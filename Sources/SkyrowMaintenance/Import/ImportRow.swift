package import SkyrowModel

/// A record to import: its values in the order of the import's fields, nil where it has none.
package struct ImportRow: Sendable {
    /// Where the record stands in its source, for telling what was wrong with it.
    package var line: Int
    /// nil asks for a fresh id, unless the import sets ``ReservedColumn/id`` itself.
    package var id: String?
    /// The values of the reserved columns that the import sets; empty for new public records without an owner.
    package var reserved: [RecordValue?] = []
    package var values: [RecordValue?]

    /// About how much memory it takes, in bytes.
    package var size: Int {
        (reserved + values).reduce(64) { sum, value in
            sum + (value?.size ?? 32)
        }
    }
}

/// What an import writes of a type.
package struct ImportColumns: Hashable, Sendable {
    package var type: RecordTypeName
    /// The reserved columns that are set to what they were in the table that the records come from, or none.
    ///
    /// The records are then rows of that table: ids, and references as strings, are as a column holds them
    /// (``StoredID``).
    package var reserved: [ReservedColumn] = []
    package var fields: [FieldName]
}

/// A record that could not be imported.
package struct ImportFault: Error, Hashable, Sendable {
    /// nil when the fault showed only at the end, such as a reference to a record that never came.
    package var line: Int?
    package var error: SkyrowError
}

/// What an import came to.
package struct ImportSummary: Hashable, Sendable {
    package var imported = 0
    package var faults: [ImportFault] = []
}
