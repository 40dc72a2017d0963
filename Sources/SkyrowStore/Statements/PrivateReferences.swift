internal import SkyrowModel
internal import SkyrowPostgres

/// The references of private records to the public records of a type, which do not prevent these from being deleted.
///
/// A delete sets them to NULL first (Documentation/Decisions/relations-and-references.md). They are rows of other
/// users, so one statement changes a bounded number of them.
struct PrivateReferences {
    /// The most private rows that one statement changes.
    static let maximumRows = 1000

    let target: RecordTable
    private let references: [(table: RecordTable, column: SQLIdentifier)]

    init(to target: RecordTable, in catalog: SchemaCatalog) {
        self.target = target
        references = catalog.sortedTables.flatMap { table in
            table.columns.filter { $0.type == .reference(target.name) && $0.onDelete == .restrict }
                .map { (table, $0.identifier) }
        }
    }

    /// Selects those of the records that the caller may delete, and to which private records refer but no public ones.
    ///
    /// ```sql
    /// SELECT "r"."_id" FROM "app"."category" AS "r" WHERE "r"."_id" = ANY($1) AND <write access>
    /// AND (EXISTS (<private references>) OR …) AND NOT EXISTS (<public references>) AND …
    /// ```
    func releasable(_ ids: [String], _ writeCondition: SQL) -> SQL {
        guard !references.isEmpty else { return "SELECT NULL::text WHERE false" }
        let held = references.map { "EXISTS (\(rows($0, "<>")))" as SQL }.joined(separator: " OR ")
        return """
            SELECT "r"."_id" FROM \(target.qualifiedName) AS "r" \
            WHERE "r"."_id" = ANY(\(ids)) AND \(writeCondition) AND (\(held))\(withoutPublicReferences)
            """
    }

    /// Sets the references to these records to NULL, with one statement for each reference field. A statement changes at most one
    /// row more than the limit, which shows whether there are more.
    func releases(_ ids: [String]) -> [SQL] {
        references.map { table, column in
            """
            UPDATE \(table.qualifiedName) SET \(column) = NULL WHERE "_id" IN (\
            SELECT "x"."_id" FROM \(table.qualifiedName) AS "x" \
            WHERE "x".\(column) = ANY(\(ids)) AND "x"."_database" <> '_public' LIMIT \(Int64(Self.maximumRows + 1)))
            """
        }
    }

    private var withoutPublicReferences: SQL {
        references.map { " AND NOT EXISTS (\(rows($0, "=")))" as SQL }.joined(separator: "")
    }

    /// The rows that refer to the record `r` from private databases (`<>`) or the public one (`=`).
    private func rows(_ reference: (table: RecordTable, column: SQLIdentifier), _ comparison: SQL) -> SQL {
        """
        SELECT FROM \(reference.table.qualifiedName) AS "p" \
        WHERE "p".\(reference.column) = "r"."_id" AND "p"."_database" \(comparison) '_public'
        """
    }
}
