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

    /// The columns that keep words: the `name` of each, those of the `text` whose words they are and of the `language`, and the
    /// `number` of the text, in SQL.
    ///
    /// A tree of three nodes that begins so is the call of a function with a language and a column, and nothing else. The parts of
    /// such a tree are cut out, since a regular expression takes milliseconds for each.
    ///
    /// - Parameter condition: of the row `words` of such a column, and of the `text` of the row `tree`, which is a number.
    package static func storedWords(_ condition: SQL) -> SQL {
        """
        SELECT words.attname AS name, text_column.attname AS text, text_column.attnum AS number,
            \(name(ofBytes: "tree.language")) AS language
        FROM pg_catalog.pg_attribute AS words
        CROSS JOIN LATERAL (
            -- What is none of these columns is not read, and no number is taken from another tree.
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

    /// The name of the column that keeps the words of the column of `pg_attribute` that the alias stands for, in its language, in
    /// SQL; NULL without one.
    static func storedWords(ofAttribute alias: SQLIdentifier) -> SQL {
        """
        (
            SELECT name FROM (
                \(storedWords("words.attrelid = \(alias).attrelid AND tree.text::integer = \(alias).attnum"))
            ) AS kept WHERE language = \(ofAttribute(alias)) ORDER BY name LIMIT 1
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
