internal import SkyrowModel
internal import SkyrowPostgres
internal import SkyrowProtocol
internal import SkyrowQuery

/// The statements of one request to the change feed, with access, predicate and fields resolved.
///
/// The rows changed since a snapshot are those whose revisions are not in its set of transactions. They are selected in two
/// branches, each in index order, so that a page sorts only the rows of the transactions that were running then:
///
/// ```sql
/// SELECT "p".* FROM (
///   (SELECT …, <matches> … WHERE <access> AND "r"."_revision" = ANY ($running) ORDER BY … LIMIT $n)
///   UNION ALL
///   (SELECT …, <matches> … WHERE <access> AND "r"."_revision" >= $end ORDER BY … LIMIT $n)
/// ) AS "p" ORDER BY "p"."_k1", "p"."_k2" LIMIT $n
/// ```
///
/// Tombstones pass the same access condition, applied to the owner and the access list that the row had.
struct ChangesStatement {
    let table: RecordTable
    let plan: RowPlan
    let cost: QueryCost
    /// Digests of what the caller may read, and of the predicate and fields.
    let audience: UInt64
    let query: UInt64
    /// The user whose relations affect what may be read; nil if none do.
    let related: UserID?
    private let text: QueryText
    private let scope: AccessScope
    private let columns: SQL
    private let width: Int
    private let condition: SQL?
    /// The conjuncts of the predicate on `_id` and `_owner` alone; only a change of owner can make them false for a record.
    private let fixedTerms: SQL?

    /// Throws `108`, `111`, `120` or `124` for an invalid request.
    init(
        _ asked: ChangeQuery,
        table: RecordTable,
        catalog: SchemaCatalog,
        access: RecordAccess,
        size: Double
    ) throws(SkyrowError) {
        var resolver = Resolver(schema: catalog, root: table, access: access)
        let resolved = try resolver.resolve(
            RecordQuery(type: asked.type, predicate: asked.predicate, desiredFields: asked.desiredFields)
        )
        guard !resolved.needsOtherRecords else { throw .changesNeedOtherRecords }
        self.table = table
        text = QueryText(table, resolver)
        cost = QueryCost(resolved, text, in: access.database, size: size)
        scope = resolved.visibility.records
        let selection =
            resolved.fields.map {
                RecordSelection(
                    of: table.name,
                    as: "r",
                    fields: $0.map { table.columns[$0] },
                    naming: table.namedColumns,
                    list: table.listStanding
                )
            } ?? table.wholeRow
        columns = selection.columns
        width = selection.width
        plan = selection.plan
        condition = resolved.predicate.map(text.matches)
        let terms = resolved.predicate.map { Self.fixed($0) } ?? []
        fixedTerms = terms.isEmpty ? nil : text.matches(.and(terms))
        related = scope.relatedUser
        let readable = scope.condition(on: "r")
        audience = ChangeDigest.of { identity in
            readable.appendIdentity(to: &identity)
            table.appendVisibility(for: access, to: &identity)
        }
        let condition = condition
        query = ChangeDigest.of { identity in
            condition?.appendIdentity(to: &identity)
            for name in asked.desiredFields.map({ Set($0).sorted() }) ?? ["*"] {
                identity.append(counted: Array(name.utf8)[...])
            }
        }
    }

    /// Returns the digest of a token's type and database, independent of the query.
    static func scope(of type: RecordTypeName, in database: DatabaseScope, _ schema: SQLIdentifier) -> UInt64 {
        ChangeDigest.of { identity in
            for name in [schema.name, type.rawValue] { identity.append(counted: Array(name.utf8)[...]) }
            switch database {
            case .everyone: identity.append(0)
            case .union: identity.append(1)
            case .user(let user):
                identity.append(2)
                identity.append(counted: Array(user.rawValue.utf8)[...])
            }
        }
    }

    // MARK: Statements

    /// Selects all matching records, by `_id`.
    func initial(after place: ChangeToken.Pass.Place?, limit: Int) -> SQL {
        byID(columns, place, limit)
    }

    /// Selects the ids and revisions of all matching records, by `_id`.
    func pairs(after place: ChangeToken.Pass.Place?, limit: Int) -> SQL {
        byID("\"r\".\"_id\", \"r\".\"_revision\"", place, limit)
    }

    private func byID(_ columns: SQL, _ place: ChangeToken.Pass.Place?, _ limit: Int) -> SQL {
        var sql: SQL =
            "SELECT \(columns) FROM \(table.qualifiedName) AS \"r\" WHERE \(text.admission(scope, join: nil))"
        if let condition { sql += " AND (\(condition))" }
        if let place { sql += " AND \"r\".\"_id\" > \(place.id)" }
        sql += " ORDER BY \"r\".\"_id\" LIMIT \(Int64(limit))"
        return sql
    }

    /// Selects the rows changed since `seen`, by revision and `_id`, which follow the record's columns, and whether they match.
    func rows(since seen: TransactionSet, after place: ChangeToken.Pass.Place?, limit: Int) -> SQL {
        let matches: SQL = condition.map { "coalesce((\($0)), false)" } ?? "true"
        var source: SQL = "FROM \(table.qualifiedName) AS \"r\" WHERE \(text.admission(scope, join: nil))"
        if let fixedTerms { source += " AND (\(fixedTerms))" }
        return Self.unseen(
            "\(columns), \"r\".\"_revision\" AS \"_k1\", \"r\".\"_id\" AS \"_k2\", \(matches) AS \"_k3\" \(source)",
            revision: "\"r\".\"_revision\"",
            id: "\"r\".\"_id\"",
            seen,
            place,
            limit
        )
    }

    /// Selects the revisions and ids of records deleted or hidden since `seen`, in that order.
    func tombstones(since seen: TransactionSet, after place: ChangeToken.Pass.Place?, limit: Int) -> SQL {
        let members = scope.condition.members.sorted { $0.name < $1.name }.compactMap { field -> SQL? in
            guard let column = try? SQLIdentifier(field.name.rawValue) else { return nil }
            let stored: SQL = "\"grave\".\"members\" -> \(literal: field.name.rawValue)"
            return field.isArray
                ? """
                , CASE jsonb_typeof(\(stored)) WHEN 'array' THEN ARRAY(SELECT jsonb_array_elements_text(\(stored))) END \
                AS \(column)
                """
                : ", \"grave\".\"members\" ->> \(literal: field.name.rawValue) AS \(column)"
        }
        var source: SQL = """
            FROM (SELECT "grave"."id" COLLATE "C" AS "_id", "grave"."id" AS "place", "grave"."revision", \
            "grave"."database" AS "_database", "grave"."owner" COLLATE "C" AS "_owner", "grave"."access" AS "_access"\
            \(members.joined(separator: "")) FROM \(table.schema.internal)."_tombstone" AS "grave" \
            WHERE "grave"."type" = \(table.name.rawValue)) AS "r" WHERE \(scope.condition(on: "r"))
            """
        if let fixedTerms { source += " AND (\(fixedTerms))" }
        return Self.unseen(
            "\"r\".\"revision\" AS \"_k1\", \"r\".\"place\" AS \"_k2\" \(source)",
            revision: "\"r\".\"revision\"",
            id: "\"r\".\"place\"",
            seen,
            place,
            limit
        )
    }

    private static func unseen(
        _ selection: SQL,
        revision: SQL,
        id: SQL,
        _ seen: TransactionSet,
        _ place: ChangeToken.Pass.Place?,
        _ limit: Int
    ) -> SQL {
        let behind: SQL = place.map { " AND (\(revision), \(id)) > (\($0.revision), \($0.id))" } ?? ""
        let order: SQL = "ORDER BY \(revision), \(id) LIMIT \(Int64(limit))"
        let later: SQL = "SELECT \(selection) AND \(revision) >= \(seen.end)\(behind) \(order)"
        guard !seen.missing.isEmpty else { return later }
        return """
            SELECT "p".* FROM ((SELECT \(selection) AND \(revision) = ANY (\(seen.missing))\(behind) \(order)) UNION ALL \
            (\(later))) AS "p" ORDER BY "p"."_k1", "p"."_k2" LIMIT \(Int64(limit))
            """
    }

    // MARK: Rows

    /// Returns the position of a row of ``rows(since:after:limit:)``.
    func place(_ row: Int, of result: PostgresResult) throws -> ChangeToken.Pass.Place {
        ChangeToken.Pass.Place(
            revision: try result.decode(row: row, column: width),
            id: try result.decode(row: row, column: width + 1)
        )
    }

    /// Returns whether a row of ``rows(since:after:limit:)`` matches the predicate.
    func matches(_ row: Int, of result: PostgresResult) throws -> Bool {
        try result.decode(row: row, column: width + 2)
    }

    // MARK: Terms

    /// Returns the conjuncts on `_id` and `_owner` alone.
    private static func fixed(_ predicate: ResolvedPredicate) -> [ResolvedPredicate] {
        if case .and(let parts) = predicate { return parts.flatMap(fixed) }
        return predicate.isAboutIdentity ? [predicate] : []
    }
}

extension ResolvedPredicate {
    /// Whether the predicate depends only on the id and the owner of a record.
    fileprivate var isAboutIdentity: Bool {
        switch self {
        case .and(let parts), .or(let parts), .none(let parts): parts.allSatisfy(\.isAboutIdentity)
        case .not(let part): part.isAboutIdentity
        case .comparison(let column, _, _), .isMissing(let column), .isPresent(let column), .constant(let column, _),
            .isOneOf(let column, _), .hasID(let column, _), .text(let column, _, _):
            column.isIdentity
        case .columns(let left, _, let right): left.isIdentity && right.isIdentity
        case .unknown, .match, .regex, .holdsText, .json, .array, .place, .covers, .isFound, .isNotFound, .isMember,
            .isRelated, .any, .all, .hasEach:
            false
        }
    }
}

extension ResolvedColumn {
    fileprivate var isIdentity: Bool {
        guard join == nil, scope == nil || scope == .query, case .metadata(let field) = place else { return false }
        return field == .id || field == .owner
    }
}

extension RecordTable {
    /// The form of the table: what a client's records depend on apart from their rows.
    var form: ChangeToken.Form { form(upTo: askedColumns.map(\.number).max() ?? 0) }

    /// Returns the form without the columns added after number `last`.
    private func form(upTo last: Int) -> ChangeToken.Form {
        ChangeToken.Form(
            table: oid,
            columns: UInt16(clamping: last),
            digest: ChangeDigest.of { identity in
                for column in askedColumns.filter({ $0.number <= last }).sorted(by: { $0.number < $1.number }) {
                    identity.append(counted: Array(column.field.rawValue.utf8)[...])
                    identity.append(counted: Array(column.type.name.utf8)[...])
                }
            }
        )
    }

    /// Whether records of form `known` remain valid in this form; new fields without values make no difference.
    ///
    /// - Parameter isSameBranch: whether the table must have the same OID as in `known`.
    func continues(_ known: ChangeToken.Form, isSameBranch: Bool) -> Bool {
        let last = Int(known.columns)
        return (!isSameBranch || known.table == oid) && form(upTo: last).digest == known.digest
            && !askedColumns.contains { $0.number > last && $0.isFilled }
    }

    /// Appends the fields that this form of the table shows, and in which records.
    fileprivate func appendVisibility(for access: RecordAccess, to identity: inout [UInt8]) {
        for name in hidden.map(\.rawValue).sorted() { identity.append(counted: Array(name.utf8)[...]) }
        var dependsOnUser = false
        func append(_ name: String, _ condition: AccessCondition) {
            dependsOnUser = true
            identity.append(counted: Array(name.utf8)[...])
            for term in condition.terms {
                let tests = term.map { test in
                    switch test {
                    case .owner: "owner"
                    case .member(let field): "field:\(field.name.rawValue)"
                    case .notOwner: "!owner"
                    case .notMember(let field): "!field:\(field.name.rawValue)"
                    case .listed(let action): "listed:\(action)"
                    // Not in conditions on fields and lists.
                    case .unlisted, .listedOwner, .related, .unlistedMember: "\(test)"
                    }
                }
                identity.append(counted: Array(tests.sorted().joined(separator: ",").utf8)[...])
            }
        }
        for column in columns {
            if let reach = column.reach { append(column.field.rawValue, reach) }
        }
        switch listStanding {
        // The case of most types.
        case .owned, .never: break
        case .always: identity.append(counted: Array("_access".utf8)[...])
        default: append("_access", listStanding)
        }
        if dependsOnUser { identity.append(counted: Array((access.conditionUser?.rawValue ?? "").utf8)[...]) }
    }
}

extension SkyrowError {
    /// `120` for a predicate that needs other records than the one it judges.
    static let changesNeedOtherRecords = SkyrowError(
        .recordQueryInvalid,
        """
        The change feed tests each record on its own: its predicate cannot use references, nested queries, \
        members of a relation or relations of users.
        """,
        info: ["arguments": .list([.string("predicate")])]
    ).at("predicate")

    /// `134` for a text that is not a change token of the query.
    static func changeTokenInvalid(_ parameter: String) -> SkyrowError {
        SkyrowError(
            .invalidToken,
            """
            The change token is not one of this query; a token is bound to the type, database, predicate and fields of its \
            query.
            """,
            info: ["arguments": .list([.string(parameter)])]
        )
    }
}
