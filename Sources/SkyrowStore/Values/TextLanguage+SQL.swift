package import SkyrowModel
package import SkyrowPostgres

// The language of a text is stored as a check of its column that is always true and names a text search configuration: CHECK
// ("title" IS NULL OR 'pg_catalog.english'::regconfig IS NOT NULL). It follows the column in renames and dumps.

extension TextLanguage {
    /// `'pg_catalog.english'::regconfig`
    var configuration: SQL { "\(literal: "pg_catalog.\(rawValue)")::regconfig" }

    /// The check that stores the language of a column; nil for the default language.
    package func check(of column: SQLIdentifier) -> SQL? {
        self == .words ? nil : "CHECK (\(column) IS NULL OR \(configuration) IS NOT NULL)"
    }

    /// `"app"._words("title")`: the words of a text, as an index of kind `text` has them.
    package func words(of text: SQL, in schema: SQLIdentifier) -> SQL {
        self == .words
            ? "\(schema)._words(\(text))" : "\(schema)._words(\(configuration), \(text))"
    }

    /// Matches a constant with a configuration's OID in a node tree of PostgreSQL, and captures its bytes.
    static let constant = "\\{CONST :consttype 3734 [^{}]*:constvalue 4 \\[ ([-0-9 ]+) \\]\\}"

    /// SQL condition: whether a row of `pg_constraint` is a check that stores a language.
    package static let isKept: SQL = "conbin::text ~ \(literal: constant)"

    /// SQL for the language of a column, given the alias of its `pg_attribute` row; NULL without one.
    package static func ofAttribute(_ alias: SQLIdentifier) -> SQL {
        """
        (
            SELECT \(name(ofBytes: "substring(conbin::text FROM \(literal: constant))")) FROM pg_catalog.pg_constraint
            -- The trees of the checks of all other columns are not read.
            WHERE conrelid = \(alias).attrelid AND contype = 'c'
                AND CASE WHEN conkey = ARRAY[\(alias).attnum] THEN \(isKept) END
            ORDER BY conname LIMIT 1
        )
        """
    }

    /// SQL for the columns that store words: the `name` of each, the `text` column and its `number`, and the `language`.
    ///
    /// A node tree of three nodes that begins this way is a function call on a language and a column. Its parts are extracted
    /// with `split_part`, since a regular expression takes milliseconds for each tree.
    ///
    /// - Parameter condition: on `words`, the column's `pg_attribute` row, and `tree.text`, the number of the text column.
    package static func storedWords(_ condition: SQL) -> SQL {
        """
        SELECT words.attname AS name, text_column.attname AS text, text_column.attnum AS number,
            \(name(ofBytes: "tree.language")) AS language
        FROM pg_catalog.pg_attribute AS words
        CROSS JOIN LATERAL (
            -- OFFSET 0 keeps PostgreSQL from reading other columns, and numbers from other trees.
            SELECT split_part(split_part(adbin::text, ':funcid ', 2), ' ', 1) AS function,
                split_part(split_part(adbin::text, ':constvalue 4 [ ', 2), ' ]', 1) AS language,
                split_part(split_part(adbin::text, ':varattno ', 2), ' ', 1) AS text
            FROM pg_catalog.pg_attrdef
            WHERE adrelid = words.attrelid AND adnum = words.attnum
                AND adbin::text LIKE
                    '{FUNCEXPR :funcid %:args ({CONST :consttype 3734 %:constvalue 4 [ % ]} {VAR :varno 1 :varattno %})%'
                AND length(adbin::text) - length(replace(adbin::text, '{', '')) = 3
            OFFSET 0
        ) AS tree
        JOIN pg_catalog.pg_attribute AS text_column
            ON text_column.attrelid = words.attrelid AND text_column.attnum = tree.text::integer
        WHERE \(StoredWords.isColumn("words")) AND \(condition)
            AND EXISTS (SELECT FROM pg_catalog.pg_proc WHERE oid = tree.function::oid AND proname = '_words')
        """
    }

    /// SQL for the name of the column that stores the words of a text column in its language, given the alias of the latter's
    /// `pg_attribute` row; NULL without one.
    static func storedWords(ofAttribute alias: SQLIdentifier) -> SQL {
        """
        (
            SELECT name FROM (
                \(storedWords("words.attrelid = \(alias).attrelid AND tree.text::integer = \(alias).attnum"))
            ) AS kept WHERE language = \(ofAttribute(alias)) ORDER BY name LIMIT 1
        )
        """
    }

    /// SQL for the name of a text search configuration, given the little-endian bytes of its OID.
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
