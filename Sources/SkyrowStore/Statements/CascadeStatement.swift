internal import SkyrowModel
internal import SkyrowPostgres

/// The statement that deletes records of a type with their dependents, and returns what it deleted.
///
/// ```sql
/// WITH RECURSIVE "gone" ("root", "type", "id") AS (
///     SELECT "r"."_id", 0, "r"."_id" FROM "app"."list" AS "r" WHERE "r"."_id" = ANY($1) AND <write access>
///     UNION SELECT "g"."root", "c"."type", "c"."id" FROM "gone" AS "g" CROSS JOIN LATERAL (
///         SELECT 1 AS "type", "x"."_id" AS "id" FROM "app"."item" AS "x" WHERE "g"."type" = 0 AND "x"."list" = "g"."id"
///     ) AS "c"
/// ), "all" AS (SELECT … FROM "gone" LIMIT $2), "size" AS (…),
/// "d0" AS (DELETE FROM "app"."list" … RETURNING …), "d1" AS (DELETE FROM "app"."item" … RETURNING …)
/// SELECT …
/// ```
///
/// The requested records require the right to delete; for their dependents the rules of references decide. Foreign keys are
/// checked at the end, so the order of the parts does not matter. Rows that another session adds meanwhile are left to the
/// actions of their foreign keys. If more records would change than the limit allows, the statement changes nothing.
struct CascadeStatement {
    /// Upper bound on the records that one request deletes as dependents or whose references it sets to null.
    static let maximumDependents = 10_000

    let graph: DeleteGraph
    let ids: [RecordID]
    let access: RecordAccess
    /// The most dependents that this statement may change.
    let budget: Int

    var sql: SQL {
        let root = graph.types[0]
        let delete = access.of(root.rules).delete.condition(on: "r")
        var sql: SQL = """
            WITH RECURSIVE "gone" ("root", "type", "id") AS (\
            SELECT "r"."_id" COLLATE "C", 0::bigint, "r"."_id" COLLATE "C" FROM \(root.qualifiedName) AS "r" \
            WHERE "r"."_id" = ANY(\(storedIDs)) AND \(delete)
            """
        if !graph.cascades.isEmpty {
            let steps = graph.cascades.map(step).joined(separator: " UNION ALL ")
            sql += """
                 UNION SELECT "g"."root", "c"."type", "c"."id" FROM "gone" AS "g" CROSS JOIN LATERAL (\(steps)) AS "c"
                """
        }
        // One more than allowed shows that there are too many.
        let most = Int64(ids.count + budget + 1)
        sql += """
            ), "all" AS MATERIALIZED (SELECT "root", "type", "id" FROM "gone" LIMIT \(most)), \
            "size" AS MATERIALIZED (SELECT \
            (SELECT count(*) FROM "all" WHERE "type" <> 0 OR "id" <> "root")\(affected) AS "count")
            """
        for (place, table) in graph.types.enumerated() {
            if let release = release(table, place) { sql += ", \(release)" }
            sql += ", \(deletion(of: table, place))"
        }
        let parts = graph.types.indices.map { place -> SQL in
            "SELECT \(Int64(place)) AS \"type\", \"id\", \"seen\" FROM \(part("d", place))"
        }
        return sql + """
             SELECT "a"."root", "a"."type", "a"."id", "d"."seen", (SELECT "count" FROM "size") FROM "all" AS "a" \
            JOIN (\(parts.joined(separator: " UNION ALL "))) AS "d" USING ("type", "id") \
            UNION ALL SELECT NULL, NULL, NULL, NULL, "count" FROM "size" WHERE "count" > \(Int64(budget))
            """
    }

    /// The records of the same database that refer to a deleted one by a reference with the rule `cascade`.
    private func step(_ edge: DeleteGraph.Edge) -> SQL {
        """
        SELECT \(Int64(edge.source)) AS "type", "x"."_id" COLLATE "C" AS "id" FROM \(graph.types[edge.source].qualifiedName) AS "x" \
        WHERE "g"."type" = \(Int64(edge.target)) AND "x".\(edge.column.identifier) = "g"."id" \
        AND "x"."_database" = \(databaseName)
        """
    }

    /// The number of references that would become null; each table is counted up to one more than allowed.
    private var affected: SQL {
        var references = graph.nullifications.map { ($0.table, $0.column, $0.target, SQL("")) }
        references += graph.cascades.map {
            (graph.types[$0.source], $0.column, $0.target, " AND \"x\".\"_database\" <> \(databaseName)" as SQL)
        }
        return references.map { table, column, target, condition in
            """
             + (SELECT count(*) FROM (SELECT FROM \(table.qualifiedName) AS "x" \
            WHERE "x".\(column.identifier) IN (\(ids(of: target)))\(condition) LIMIT \(Int64(budget + 1))) AS "n")
            """ as SQL
        }.joined(separator: "")
    }

    /// Sets references from other databases to null, before their foreign keys act: such a record is not deleted.
    private func release(_ table: RecordTable, _ place: Int) -> SQL? {
        let edges = graph.cascades.filter { $0.source == place }
        guard !edges.isEmpty else { return nil }
        let assignments = edges.map { edge -> SQL in
            """
            \(edge.column.identifier) = CASE WHEN "r".\(edge.column.identifier) IN (\(ids(of: edge.target))) \
            THEN NULL ELSE "r".\(edge.column.identifier) END
            """
        }
        let conditions = edges.map { "\"r\".\($0.column.identifier) IN (\(ids(of: $0.target)))" as SQL }
        return """
            \(part("p", place)) AS (UPDATE \(table.qualifiedName) AS "r" SET \(assignments.joined(separator: ", ")) \
            WHERE "r"."_database" <> \(databaseName) AND (\(conditions.joined(separator: " OR "))) AND \(fits))
            """
    }

    private func deletion(of table: RecordTable, _ place: Int) -> SQL {
        let read = access.of(table.rules).read.condition(on: "r")
        // Evaluated again if the row was changed meanwhile: a record that no longer refers to a deleted one stays.
        var reasons = graph.cascades.filter { $0.source == place }.map { edge -> SQL in
            "\"r\".\(edge.column.identifier) IN (\(ids(of: edge.target)))"
        }
        if place == 0 { reasons.append("\"r\".\"_id\" = ANY(\(storedIDs))") }
        return """
            \(part("d", place)) AS (DELETE FROM \(table.qualifiedName) AS "r" \
            WHERE "r"."_id" IN (\(ids(of: place))) AND (\(reasons.joined(separator: " OR "))) AND \(fits) \
            RETURNING "r"."_id" AS "id", coalesce(\(read), false) AS "seen")
            """
    }

    private func ids(of place: Int) -> SQL {
        "SELECT \"id\" FROM \"all\" WHERE \"type\" = \(Int64(place))"
    }

    private var fits: SQL { "(SELECT \"count\" FROM \"size\") <= \(Int64(budget))" }

    /// The name of a part of the statement, by the position of its type: `d3`.
    private func part(_ letter: StaticString, _ place: Int) -> SQL {
        SQL(trustedText: "\"\(letter)\(place)\"")
    }

    private var storedIDs: [String] { ids.map { StoredID($0.id, in: access.database).text } }

    private var databaseName: String {
        switch access.database {
        case .everyone, .union: "_public"
        case .user(let user): user.rawValue
        }
    }
}
