package import SkyrowModel
import SkyrowPostgres

/// A row of `_asset` of a stored file, as far as a check or a copy of the file needs it.
package struct FileRow: Hashable, Sendable {
    package var name: AssetName
    /// In bytes.
    package var size: Int64
    /// The hash of the contents; nil in rows from psql.
    package var sha256: [UInt8]?

    package init(name: AssetName, size: Int64, sha256: [UInt8]? = nil) {
        self.name = name
        self.size = size
        self.sha256 = sha256
    }

    /// Upper bound on the rows, or files, that are in memory at a time.
    static let pageLength = 1000
}

extension FileRow {
    private static let columns: SQL = "name, size, sha256"

    /// Selects the rows behind a name, in the order of names.
    static func page(after name: AssetName?, in schema: SQLIdentifier) -> SQL {
        """
        SELECT \(columns) FROM \(schema.internal)._asset WHERE name > \(name?.rawValue ?? "") AND state = 'stored'
        ORDER BY name LIMIT \(Int64(pageLength))
        """
    }

    /// Selects some rows from a random name on, and the first ones if these are too few.
    static func sample(_ count: Int, in schema: SQLIdentifier) -> SQL {
        """
        WITH start AS MATERIALIZED (
            SELECT gen_random_uuid()::text AS name
        )
        (
            SELECT \(columns) FROM \(schema.internal)._asset
            WHERE name >= (SELECT name FROM start) AND state = 'stored' ORDER BY name LIMIT \(Int64(count))
        ) UNION ALL (
            SELECT \(columns) FROM \(schema.internal)._asset
            WHERE name < (SELECT name FROM start) AND state = 'stored' ORDER BY name LIMIT \(Int64(count))
        )
        LIMIT \(Int64(count))
        """
    }

    /// The rows of a result. The table has a constraint that its names are valid.
    static func all(in result: PostgresResult) throws(PostgresError) -> [FileRow] {
        var rows: [FileRow] = []
        for row in 0..<result.rowCount {
            guard let name = AssetName(try result.decode(row: row, column: 0, as: String.self)) else { continue }
            rows.append(
                FileRow(
                    name: name,
                    size: try result.decode(row: row, column: 1),
                    sha256: try result.decode(row: row, column: 2)
                )
            )
        }
        return rows
    }
}
