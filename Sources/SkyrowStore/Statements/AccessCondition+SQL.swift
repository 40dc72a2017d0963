internal import SkyrowModel
internal import SkyrowPostgres
internal import SkyrowQuery

/// The SQL of conditions on records.
extension AccessCondition {
    /// `"r"."_owner" = $1`, or `("r"."_owner" = $1 OR "r"."members" @> ARRAY[$1::text])`, for a condition that holds for some
    /// records.
    func text(on table: SQLIdentifier, of caller: AccessCaller) -> StatementTemplate {
        terms.map { term -> StatementTemplate in
            let tests = term.map { $0.text(on: table, of: caller) }
            return tests.count == 1 ? tests[0] : "(\(tests.joined(separator: " OR ")))"
        }.joined(separator: " AND ")
    }
}

extension AccessCondition.Test {
    func text(on table: SQLIdentifier, of caller: AccessCaller) -> StatementTemplate {
        switch self {
        case .unlisted: "\(table).\"_access\" IS NULL"
        case .owner: "\(table).\"_owner\" = \(caller.user)"
        case .listedOwner: "(\(table).\"_owner\" = \(caller.user) AND \(table).\"_access\" IS NOT NULL)"
        case .notOwner: "\(table).\"_owner\" IS DISTINCT FROM \(caller.user)"
        case .listed(let action): Self.listed(action, on: table, caller)
        case .member(let field): field.names(caller.user, on: table)
        // An empty field names no one.
        case .notMember(let field): "NOT coalesce(\(field.names(caller.user, on: table)), false)"
        case .related(let action, let entries): Self.related(action, entries, on: table, caller)
        case .unlistedMember(let field): "(\(table).\"_access\" IS NULL AND \(field.names(caller.user, on: table)))"
        }
    }

    private static func listed(
        _ action: AccessAction,
        on table: SQLIdentifier,
        _ caller: AccessCaller
    ) -> StatementTemplate {
        let audience = caller.audience
        if case .named = caller { return "coalesce(\(action.isListed(on: table, for: audience)), false)" }
        let isNamed: StatementTemplate = "\(table).\"_access\" ?| (\(caller.isInRow ? audience : "SELECT \(audience)"))"
        if action == .read { return "coalesce(\(isNamed), false)" }
        return """
            (\(isNamed) AND EXISTS (SELECT FROM jsonb_each_text(\(table)."_access") AS "e" ("subject", "level") \
            WHERE "e"."level" IN (\(action.levels)) \
            AND "e"."subject" = ANY ((SELECT \(audience))::text[])))
            """
    }

    /// Returns the condition that the list has an entry for the user's relation to the owner of the record: the list has such an
    /// entry, the user has any relation of the kind (looked up once per statement), and has it with the owner. The last two are
    /// index lookups.
    ///
    /// ```sql
    /// "r"."_access" ? 'relation:friend'
    /// AND EXISTS (SELECT FROM "app_internal"."_relation" AS "edge" WHERE "edge"."user_id" = $1 AND "edge"."name" = 'friend')
    /// AND (SELECT "edge"."mutual" FROM "app_internal"."_relation" AS "edge"
    ///   WHERE "edge"."user_id" = $1 AND "edge"."name" = 'friend' AND "edge"."other_id" = "r"."_owner")
    /// ```
    ///
    /// The second part is false and never NULL; after NULL PostgreSQL would evaluate the third. The third part is not an
    /// `EXISTS`, for which PostgreSQL would first build a table of all relations of the user.
    private static func related(
        _ action: AccessAction,
        _ entries: RelationEntries,
        on table: SQLIdentifier,
        _ caller: AccessCaller
    ) -> StatementTemplate {
        guard let schema = try? SQLIdentifier(entries.schema) else { return "false" }
        let arms = entries.relations.map { relation -> StatementTemplate in
            let key: SQL = "\(literal: Subject.relation(relation).key)"
            let isNamed: StatementTemplate =
                action == .read
                ? "\(table).\"_access\" ? \(key)" : "\(table).\"_access\" ->> \(key) IN (\(action.levels))"
            if case .session(let home) = caller {
                // Roles that log in to the database may not read the relations of users.
                let kind: SQL = "\(literal: relation.rawValue)"
                return "(\(isNamed) AND \(home).\"_is_related\"(\(kind), \(table).\"_owner\"))"
            }
            let edge = Edge(relation)
            let edges: StatementTemplate = """
                FROM \(schema.internal)."_relation" AS "edge" \
                WHERE "edge".\(edge.user) = \(caller.user) AND "edge"."name" = \(edge.name)
                """
            return """
                (\(isNamed) AND EXISTS (SELECT \(edges)) \
                AND (SELECT \(edge.holds) \(edges) AND "edge".\(edge.owner) = \(table)."_owner"))
                """
        }
        return "(\(arms.joined(separator: " OR ")))"
    }

    /// The row of `_relation` that relates a user to the owner of a record.
    private struct Edge {
        let name: SQL
        /// The columns of the user and of the owner.
        let user: SQL
        let owner: SQL
        let holds: SQL

        init(_ relation: Subject.Relation) {
            switch relation {
            case .friend:
                (name, user, owner, holds) = ("'friend'", "\"user_id\"", "\"other_id\"", "\"edge\".\"mutual\"")
            case .follower: (name, user, owner, holds) = ("'follow'", "\"user_id\"", "\"other_id\"", "true")
            case .followed: (name, user, owner, holds) = ("'follow'", "\"other_id\"", "\"user_id\"", "true")
            }
        }
    }
}

extension MemberField {
    /// Returns the condition that the field contains the user's id. The catalog has checked the column.
    func names(_ user: StatementTemplate, on table: SQLIdentifier) -> StatementTemplate {
        guard let column = try? SQLIdentifier(name.rawValue) else { return "false" }
        return isArray ? "\(table).\(column) @> ARRAY[\(user)::text]" : "\(table).\(column) = \(user)"
    }
}

extension AccessAction {
    /// The levels that allow the action, as a list in SQL.
    fileprivate var levels: SQL {
        AccessLevel.allCases.filter { $0.allows(self) }.map { "\(literal: $0.rawValue)" as SQL }.joined(separator: ", ")
    }

    /// Returns the condition that the list has an entry for the audience that allows the action. It has no sub-select, which
    /// conditions of triggers do not allow.
    func isListed(on table: SQLIdentifier, for audience: StatementTemplate) -> StatementTemplate {
        let levels = AccessLevel.allCases.filter { $0.allows(self) }.map { "@.value == \"\($0.rawValue)\"" }
        let path: SQL = "\(literal: "$.keyvalue() ? (\(levels.joined(separator: " || "))).key")"
        return "jsonb_path_query_array(\(table).\"_access\", \(path)) ?| \(audience)"
    }
}

extension ResolvedColumn.Limit {
    /// The condition with the caller bound.
    func condition(on table: SQLIdentifier) -> SQL {
        if reach == .owned { return "\(table).\"_owner\" = \(user)" }
        let user: SQL = "\(user)"
        let template = reach.text(on: table, of: .named("\(parameter: .access(.user))"))
        return template.replacingParameters { _ in user }
    }
}

/// The source of the caller's values in a condition.
enum AccessCaller {
    /// The parameters of the statement.
    case bound
    /// The columns of the row, in a coalesced statement.
    case inRow
    /// Functions of this PostgreSQL schema that describe the role that is logged in to the database.
    case session(SQLIdentifier)
    /// A user, and the keys of the audience, an array of texts.
    case named(StatementTemplate, audience: StatementTemplate = "'{}'::text[]")

    var isInRow: Bool {
        if case .inRow = self { true } else { false }
    }

    /// The id of the user.
    var user: StatementTemplate {
        switch self {
        case .bound, .inRow: "\(parameter: .access(.user))"
        case .session(let schema): "(SELECT \(schema).\"_me\"())"
        case .named(let user, _): user
        }
    }

    /// The id of the user whose private database it is.
    var database: StatementTemplate {
        switch self {
        case .bound, .inRow: "\(parameter: .access(.database))"
        case .session, .named: user
        }
    }

    /// The keys of the audience, an array of texts.
    var audience: StatementTemplate {
        switch self {
        case .bound, .inRow: "\(parameter: .access(.audience))::text::text[]"
        case .session(let schema): "\(schema).\"_audience\"()"
        case .named(_, let audience): audience
        }
    }
}
