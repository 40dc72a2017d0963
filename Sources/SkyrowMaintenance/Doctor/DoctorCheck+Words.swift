internal import SkyrowModel
internal import SkyrowPostgres
import SkyrowStore

// Checks of word indexes and word columns in a language, which psql can change
// (Documentation/Decisions/text-and-places.md).

extension DoctorCheck {
    /// Rows: `name`, `relation`, `field`, the languages `has` and `wanted`, and `is_ours`.
    package static let wordIndexes = DoctorCheck(
        "word-indexes",
        "Text-search indexes with another language than their field",
        needsTables: true,
        .queries { scope in
            let indexes = scope.tables.flatMap { table in table.outdatedWords }
            guard !indexes.isEmpty else { return [] }
            return [
                """
                SELECT quote_ident(found.name) AS name, found.relation, found.field, found.has, found.wanted, EXISTS (
                    SELECT FROM \(scope.schema.internal)._index WHERE _index.name = found.name AND has_begun
                ) AS is_ours
                FROM (\(indexes.joined(separator: " UNION ALL "))) AS found ORDER BY found.relation, found.name
                """
            ]
        },
        finding: { row, _ in
            DoctorFinding(
                .warning,
                "The text-search index \(row["name"]) of \(row["relation"]) has the language \(row["has"]), and the field "
                    + "\(row["field"]) has the language \(row["wanted"]).",
                meaning: "It is maintained, but \"match\" reads all of \(row["relation"]) instead of it.",
                remedy: row.flag("is_ours")
                    ? "A running service rebuilds it within a minute; if none is running, start it."
                    : "Create an index of the kind text with schema:index:create, which uses the language of the field, and "
                        + "drop this one.",
                commands: row.flag("is_ours") ? [] : ["DROP INDEX CONCURRENTLY \(row["name"]);"]
            )
        }
    )
}

extension DoctorCheck {
    /// Rows: `name`, `relation`, `field`, and the languages `has` and `wanted`.
    package static let storedWords = DoctorCheck(
        "stored-words",
        "Text-search columns with another language than their field",
        needsTables: true,
        .query { scope in
            """
            SELECT quote_ident(kept.name) AS name, quote_ident(relname) AS relation, kept.text::text AS field,
                coalesce(kept.language, 'another language') AS has, coalesce(\(TextLanguage.ofAttribute("field")), 'none') AS wanted
            FROM pg_catalog.pg_class
            CROSS JOIN LATERAL (\(TextLanguage.storedWords("words.attrelid = pg_class.oid"))) AS kept
            JOIN pg_catalog.pg_attribute AS field ON field.attrelid = pg_class.oid AND field.attname = kept.text
            WHERE relnamespace = \(scope.schema.namespace) AND relkind IN ('r', 'p')
                AND kept.language IS DISTINCT FROM \(TextLanguage.ofAttribute("field"))
            ORDER BY 2, 1
            """
        },
        finding: { row, _ in
            DoctorFinding(
                .warning,
                "The text-search column \(row["name"]) of \(row["relation"]) has the language \(row["has"]), and the field "
                    + "\(row["field"]) has the language \(row["wanted"]).",
                meaning: "Every save computes it, but \"match\" does not use it.",
                remedy:
                    "'skyrow schema apply' creates it again if the file has stored words for the field. Otherwise drop it.",
                commands: ["ALTER TABLE \(row["relation"]) DROP COLUMN \(row["name"]);"]
            )
        }
    )
}

extension RecordTable {
    /// The word indexes in another language than their field's, each as a `SELECT` of one row.
    fileprivate var outdatedWords: [SQL] {
        indexes.flatMap { index in
            index.keys.compactMap { key -> SQL? in
                guard key.form == .words, let name = key.column, let field = try? FieldName(name),
                    let column = self[field],
                    !key.hasWords(of: column)
                else { return nil }
                return """
                    SELECT \(index.name)::text AS name, \(self.name.rawValue)::text AS relation, \(name)::text AS field, \
                    \(key.language.rawValue)::text AS has, \(column.textLanguage.rawValue)::text AS wanted
                    """
            }
        }
    }
}
