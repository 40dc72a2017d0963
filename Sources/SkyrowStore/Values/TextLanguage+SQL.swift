package import SkyrowModel
package import SkyrowPostgres

// The language of a text is kept by a check of its column that is always true and names the configuration of PostgreSQL's text
// search: CHECK ("title" IS NULL OR 'pg_catalog.english'::regconfig IS NOT NULL). It follows the column wherever that goes.

extension TextLanguage {
    /// `'pg_catalog.english'::regconfig`
    var configuration: SQL { "\(literal: "pg_catalog.\(rawValue)")::regconfig" }

    /// The check that keeps the language of a column; nil where there is none to keep.
    package func check(of column: SQLIdentifier) -> SQL? {
        self == .words ? nil : "CHECK (\(column) IS NULL OR \(configuration) IS NOT NULL)"
    }

    /// `"app"._words("title")`, the words of a text as an index of the kind `text` has them.
    package func words(of text: SQL, in schema: SQLIdentifier) -> SQL {
        self == .words
            ? "\(schema)._words(\(text))" : "\(schema)._words(\(configuration), \(text))"
    }

    /// The number of a configuration in a constant of a tree of PostgreSQL, and what stands around its bytes.
    static let constant = "\\{CONST :consttype 3734 [^{}]*:constvalue 4 \\[ ([-0-9 ]+) \\]\\}"

    /// Whether a row of `pg_constraint` is a check that keeps a language, in SQL.
    package static let isKept: SQL = "conbin::text ~ \(literal: constant)"

    /// The language of the column of `pg_attribute` that the alias stands for, in SQL; NULL without one.
    static func ofAttribute(_ alias: SQLIdentifier) -> SQL {
        """
        (
            SELECT \(name(ofBytes: "substring(conbin::text FROM \(literal: constant))")) FROM pg_catalog.pg_constraint
            WHERE conrelid = \(alias).attrelid AND contype = 'c' AND conkey = ARRAY[\(alias).attnum]
                AND \(isKept)
            ORDER BY conname LIMIT 1
        )
        """
    }

    /// The name of a configuration of PostgreSQL's by the bytes of its number, the least significant first.
    static func name(ofBytes bytes: SQL) -> SQL {
        """
        (
            SELECT cfgname FROM pg_catalog.pg_ts_config
            WHERE cfgnamespace = 'pg_catalog'::regnamespace AND oid = (
                SELECT sum((byte::bigint & 255) << (8 * (place - 1))::integer)::bigint
                FROM unnest(string_to_array(\(bytes), ' ')) WITH ORDINALITY AS part (byte, place) WHERE place <= 4
            )::oid
        )
        """
    }
}
