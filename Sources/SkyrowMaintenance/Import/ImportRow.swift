package import SkyrowModel

/// A record to import: its values in the order of the import's fields, nil for no value.
package struct ImportRow: Sendable {
    /// The line of the record in its source, for messages.
    package var line: Int
    /// The id; nil for a new one, unless the import sets ``ReservedColumn/id``.
    package var id: String?
    /// The values of the imported reserved columns; empty for new public records without an owner.
    package var reserved: [RecordValue?] = []
    package var values: [RecordValue?]

    /// The approximate memory size in bytes.
    package var size: Int {
        (reserved + values).reduce(64) { sum, value in
            sum + (value?.size ?? 32)
        }
    }
}

/// The columns of a type that an import writes.
package struct ImportColumns: Hashable, Sendable {
    package var type: RecordTypeName
    /// The reserved columns that keep the values of the source table; may be empty.
    ///
    /// If there are any, the records are rows of that table, and ids and string references are stored ones (``StoredID``).
    package var reserved: [ReservedColumn] = []
    package var fields: [FieldName]
}

/// A record that could not be imported.
package struct ImportFault: Error, Hashable, Sendable {
    /// The line; nil if the fault appeared only at the end, such as a reference to a missing record.
    package var line: Int?
    package var error: SkyrowError
}

/// The result of importing records.
package struct ImportSummary: Hashable, Sendable {
    package var imported = 0
    package var faults: [ImportFault] = []
}
