internal import SkyrowPostgres

/// Columns of a row to insert, each beside its value.
///
/// ```swift
/// let row: NewRow = ["hash": "\(hash)", "expires_at": "now() + interval '1 minute'"]
/// try await store.write("INSERT INTO \(schema.internal)._flow (\(row.names)) VALUES (\(row.values))")
/// ```
struct NewRow: ExpressibleByDictionaryLiteral {
    private var columns: [(name: SQL, value: SQL)]

    init(dictionaryLiteral columns: (SQL, SQL)...) { self.columns = columns }

    var names: SQL { columns.map(\.name).joined(separator: ", ") }
    var values: SQL { columns.map(\.value).joined(separator: ", ") }
    /// The assignments that put the row in the place of one with the same key.
    var replacements: SQL { columns.map { "\($0.name) = EXCLUDED.\($0.name)" as SQL }.joined(separator: ", ") }

    static func + (left: NewRow, right: NewRow) -> NewRow {
        var row = left
        row.columns += right.columns
        return row
    }
}
