internal import SkyrowModel
internal import SkyrowPostgres
internal import SkyrowQuery
import SkyrowStore

// Checks of text order and comparison (Documentation/Decisions/text-and-places.md).

extension DoctorCheck {
    package static let textOrder = DoctorCheck(
        "text-order",
        "Collation of text columns",
        needsTables: true,
        .query { scope in
            """
            SELECT relname AS type, string_agg(quote_ident(attname), ', ' ORDER BY attnum) AS columns
            FROM pg_catalog.pg_attribute JOIN pg_catalog.pg_class ON pg_class.oid = attrelid
            WHERE relnamespace = \(scope.schema.namespace) AND attnum > 0 AND NOT attisdropped
                AND relname = ANY (\(scope.tables.map { PostgresName($0.name.rawValue) }))
                AND atttypid = 'text'::regtype AND \(TextCollation.ofAttribute) NOT IN ('bytes', 'databaseBytes')
            GROUP BY relname ORDER BY relname
            """
        },
        finding: { row, _ in
            DoctorFinding(
                .warning,
                "\(row["type"]) has text columns with a linguistic collation: \(row["columns"]).",
                meaning:
                    "Results are correct, since queries name their collation, but queries that compare or sort these "
                    + "columns read the whole table instead of an index.",
                remedy:
                    "'skyrow schema apply' or the statement sets the collation \"C\", which rebuilds their indexes but no "
                    + "rows. Columns that a view, a policy or a computed column uses are not changed.",
                commands: ["SELECT _order_by_bytes('\(row["type"])');"]
            )
        }
    )

    package static let textFolding = DoctorCheck(
        "text-folding",
        "Case folding",
        needsTables: true,
        // All cased letters are in the first two planes of Unicode.
        .query { scope in
            """
            SELECT number AS code, \(scope.schema)._fold(chr(number)) AS folded
            FROM generate_series(1, 131071) AS number
            WHERE number NOT BETWEEN 55296 AND 57343 AND \(scope.schema)._fold(chr(number)) <> chr(number)
            """
        },
        judge: { rows, _ in
            let served = Dictionary(rows.map { ($0.integer("code"), $0["folded"]) }) { first, _ in first }
            let known = Dictionary(TextFolding.changes.map { (Int($0.scalar.value), $0.folded) }) { first, _ in first }
            let missing = known.filter { code, folded in !(served[code]?.isSameText(as: folded) ?? false) }.map(\.key)
            let differing = missing + served.keys.filter { known[$0] == nil && TextFolding.isKnown($0) }
            guard let first = differing.min() else { return [] }
            let scalar = Unicode.Scalar(UInt32(first)).map { String($0) } ?? ""
            return [
                DoctorFinding(
                    .warning,
                    "The server folds the case of \(differing.count) letters differently from Skyrow, such as '\(scalar)'.",
                    meaning:
                        "A query with \"ilike\" may match different records in the database than in memory, where live queries "
                        + "and clients evaluate it.",
                    remedy: "Use a PostgreSQL that is built with ICU, and create the function again."
                )
            ]
        }
    )
}
