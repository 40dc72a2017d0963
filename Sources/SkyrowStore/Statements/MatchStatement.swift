internal import SkyrowModel
internal import SkyrowPostgres
internal import SkyrowProtocol
internal import SkyrowQuery

extension BulkRequest.Change {
    var purpose: MatchStatement.Purpose {
        switch self {
        case .update: .update
        case .delete: .delete
        }
    }
}

/// The statements that find the records of a bulk request, and lock those that it may change.
///
/// ```sql
/// SELECT "r"."_id", <update access> FROM "app"."task" AS "r" WHERE <read access> AND (<predicate>)
/// ORDER BY "r"."_id" LIMIT $5
/// ```
struct MatchStatement {
    /// What the request does with the records.
    enum Purpose {
        case update
        case delete
    }

    private let purpose: Purpose
    /// `FROM … WHERE …`
    private let source: SQL
    /// The condition that the caller may change or delete the record.
    private let change: SQL
    let cost: QueryCost

    /// Throws `108`, `111`, `120` or `124` for an invalid request.
    ///
    /// - Parameter size: the number of records of the type.
    init(
        _ match: RecordMatch,
        table: RecordTable,
        catalog: SchemaCatalog,
        access: RecordAccess,
        for purpose: Purpose,
        size: Double = 0
    ) throws(SkyrowError) {
        var query = RecordQuery(type: table.name)
        if case .predicate(let predicate) = match { query.predicate = predicate }
        var resolver = Resolver(schema: catalog, root: table, access: access)
        let resolved = try resolver.resolve(query)
        let text = QueryText(table, resolver)
        let condition = resolved.predicate.map { text.matches($0) } ?? SQL()
        var source = QueryStatement.source(resolved, text, condition)
        switch match {
        case .predicate:
            cost = QueryCost(resolved, text, in: access.database, size: size)
        case .ids(let ids):
            cost = QueryCost(ofIDsIn: table.name)
            source += " AND \"r\".\"_id\" = ANY(\(ids.map { StoredID($0.id, in: access.database).text }))"
        }
        self.source = source
        self.purpose = purpose
        switch purpose {
        case .update: change = access.of(table.rules).update.condition(on: "r")
        case .delete: change = access.of(table.rules).delete.condition(on: "r")
        }
    }

    /// Selects the stored ids of the matching records in ascending order, and whether the caller may change or delete each.
    func found(atMost limit: Int) -> SQL {
        """
        SELECT "r"."_id", coalesce(\(change), false) \(source) ORDER BY "r"."_id" LIMIT \(Int64(limit))
        """
    }

    /// Counts the matching records, up to `limit`.
    func count(atMost limit: Int) -> SQL {
        "SELECT count(*) FROM (SELECT \(source) LIMIT \(Int64(limit))) AS \"c\""
    }

    /// Locks those of the records that still match and that the caller may change or delete, in the order of their ids: two
    /// requests that lock the same records wait for each other instead of ending in a deadlock.
    func locked(_ storedIDs: [String]) -> SQL {
        var sql: SQL = """
            SELECT "r"."_id" \(source) AND "r"."_id" = ANY(\(storedIDs)) AND \(change) ORDER BY "r"."_id"
            """
        switch purpose {
        case .update: sql.append(raw: " FOR NO KEY UPDATE OF \"r\"")
        case .delete: sql.append(raw: " FOR UPDATE OF \"r\"")
        }
        return sql
    }
}
