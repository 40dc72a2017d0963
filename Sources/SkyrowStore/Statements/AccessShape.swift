internal import SkyrowModel
internal import SkyrowPostgres

/// The parts of an access scope that determine the text of its condition.
///
/// A scope without its values: the kind of database, and the kind of each clause in order. Cached statement texts have it in
/// their key (``StatementText``). A text cannot depend on anything else, since it is made from this type alone.
package struct AccessShape: Hashable, Sendable {
    private enum Database: UInt64 {
        case everyone
        case user
        case union
    }

    private struct Clause: OptionSet, Hashable {
        var rawValue: UInt8

        static let everything = Clause(rawValue: 1)
        static let unlisted = Clause(rawValue: 2)
        static let owner = Clause(rawValue: 4)
        static let listed = Clause(rawValue: 8)
        /// The action that a list entry must allow, unless the action is reading.
        static let update = Clause(rawValue: 16)
        static let delete = Clause(rawValue: 32)
        static let member = Clause(rawValue: 64)
        static let related = Clause(rawValue: 128)

        var action: AccessAction? {
            contains(.update) ? .update : contains(.delete) ? .delete : nil
        }
    }

    /// The database in the lowest byte, then a byte for each clause, at most seven. One number, since a shape is made for every
    /// request.
    private var packed: UInt64
    /// All terms, if ``packed`` cannot hold them: several, over seven clauses, or one with a field or relations. Usually nil.
    private var terms: [[RuledClause]]?

    /// A clause with the field or the relations that it names.
    private struct RuledClause: Hashable {
        var clause: Clause
        var field: MemberField?
        /// For a clause about relations of users: the relations that lists name.
        var relations: RelationEntries?
    }

    init(_ scope: AccessScope) {
        switch scope.database {
        case .everyone: packed = Database.everyone.rawValue
        case .user: packed = Database.user.rawValue
        case .union: packed = Database.union.rawValue
        }
        guard scope.others.isEmpty, scope.clauses.count <= 7,
            !scope.clauses.contains(where: { $0.field != nil || $0.relations != nil })
        else {
            terms = ([scope.clauses] + scope.others).map { term in
                term.map { RuledClause(clause: Self.clause($0), field: $0.field, relations: $0.relations) }
            }
            return
        }
        for (place, clause) in scope.clauses.enumerated() {
            packed |= UInt64(Self.clause(clause).rawValue) << UInt64(8 * (place + 1))
        }
    }

    private static func clause(_ clause: AccessClause) -> Clause {
        switch clause {
        case .everything: return .everything
        case .unlisted: return .unlisted
        case .owner: return .owner
        case .listedOwner: return [.owner, .listed]
        case .listed(_, .read): return .listed
        case .listed(_, .update): return [.listed, .update]
        case .listed(_, .delete): return [.listed, .delete]
        case .member: return .member
        case .unlistedMember: return [.unlisted, .member]
        case .related(_, .read, _): return .related
        case .related(_, .update, _): return [.related, .update]
        case .related(_, .delete, _): return [.related, .delete]
        }
    }

    private var allTerms: [[RuledClause]] {
        if let terms { return terms }
        let clauses = (1...7).map { Clause(rawValue: UInt8(truncatingIfNeeded: packed >> UInt64(8 * $0))) }
        return [clauses.filter { !$0.isEmpty }.map { RuledClause(clause: $0) }]
    }

    /// Whether the condition admits all public records without an access list, for any values of its parameters.
    var admitsUnlisted: Bool {
        guard packed & 0xFF == Database.everyone.rawValue else { return false }
        let broad: Clause = [.everything, .unlisted]
        guard let terms else { return packed & (0x01_0101_0101_0101_00 * UInt64(broad.rawValue)) != 0 }
        return terms.allSatisfy { term in
            term.contains { $0.field == nil && !$0.clause.isDisjoint(with: broad) }
        }
    }

    // MARK: Text

    /// The condition on the rows of `table`, an alias of the statement.
    ///
    /// - Parameter hasCallerInRow: whether each row brings the values of a different caller. The audience is then not in a
    ///   sub-select, which PostgreSQL would run for each row.
    func condition(on table: SQLIdentifier, hasCallerInRow: Bool = false) -> StatementTemplate {
        condition(on: table, of: hasCallerInRow ? .inRow : .bound)
    }

    /// The condition on the rows of `table`, an alias of the statement.
    func condition(on table: SQLIdentifier, of caller: AccessCaller) -> StatementTemplate {
        let terms = allTerms
        guard !terms.contains(where: \.isEmpty) else { return "false" }
        var condition: StatementTemplate
        switch Database(rawValue: packed & 0xFF) {
        case .everyone: condition = "\(table).\"_database\" = '_public'"
        case .user: condition = "\(table).\"_database\" = \(caller.database)"
        case .union: condition = "true"
        case nil: return "false"
        }
        for term in terms where !term.contains(where: { $0.clause.contains(.everything) }) {
            let admissions = term.map { Self.admission($0, on: table, of: caller) }
            condition += " AND (\(admissions.joined(separator: " OR ")))"
        }
        return condition
    }

    private static func admission(
        _ ruled: RuledClause,
        on table: SQLIdentifier,
        of caller: AccessCaller
    ) -> StatementTemplate {
        let clause = ruled.clause
        if let field = ruled.field {
            let isMember = member(of: field, on: table, is: caller.user)
            return clause.contains(.unlisted) ? "(\(table).\"_access\" IS NULL AND \(isMember))" : isMember
        }
        if let relations = ruled.relations { return related(clause.action, relations, on: table, caller) }
        if clause.contains(.unlisted) { return "\(table).\"_access\" IS NULL" }
        if clause.isSuperset(of: [.owner, .listed]) {
            return "(\(table).\"_owner\" = \(caller.user) AND \(table).\"_access\" IS NOT NULL)"
        }
        if clause.contains(.owner) { return "\(table).\"_owner\" = \(caller.user)" }
        let audience = caller.audience
        let isNamed: StatementTemplate = "\(table).\"_access\" ?| (\(caller.isInRow ? audience : "SELECT \(audience)"))"
        guard let action = clause.action else { return "coalesce(\(isNamed), false)" }
        let levels = AccessLevel.allCases.filter { $0.allows(action) }.map { "\(literal: $0.rawValue)" as SQL }
        return """
            (\(isNamed) AND EXISTS (SELECT FROM jsonb_each_text(\(table)."_access") AS "e" ("subject", "level") \
            WHERE "e"."level" IN (\(levels.joined(separator: ", "))) \
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
        _ action: AccessAction?,
        _ entries: RelationEntries,
        on table: SQLIdentifier,
        _ caller: AccessCaller
    ) -> StatementTemplate {
        guard let schema = try? SQLIdentifier(entries.schema) else { return "false" }
        let levels = action.map { action in
            AccessLevel.allCases.filter { $0.allows(action) }.map { "\(literal: $0.rawValue)" as SQL }
                .joined(separator: ", ")
        }
        let arms = entries.relations.map { relation -> StatementTemplate in
            let key: SQL = "\(literal: Subject.relation(relation).key)"
            let isNamed: StatementTemplate =
                if let levels {
                    "\(table).\"_access\" ->> \(key) IN (\(levels))"
                } else {
                    "\(table).\"_access\" ? \(key)"
                }
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

    /// Returns the condition that a field contains the user's id. The catalog has checked the column (``MemberField``).
    static func member(
        of field: MemberField,
        on table: SQLIdentifier,
        is user: StatementTemplate
    ) -> StatementTemplate {
        guard let column = try? SQLIdentifier(field.name.rawValue) else { return "false" }
        return field.isArray ? "\(table).\(column) @> ARRAY[\(user)::text]" : "\(table).\(column) = \(user)"
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

    var isInRow: Bool {
        if case .inRow = self { true } else { false }
    }

    /// The id of the user.
    var user: StatementTemplate {
        switch self {
        case .bound, .inRow: "\(parameter: .access(.user))"
        case .session(let schema): "(SELECT \(schema).\"_me\"())"
        }
    }

    /// The id of the user whose private database it is.
    var database: StatementTemplate {
        switch self {
        case .bound, .inRow: "\(parameter: .access(.database))"
        case .session: user
        }
    }

    /// The keys of the audience, an array of texts.
    var audience: StatementTemplate {
        switch self {
        case .bound, .inRow: "\(parameter: .access(.audience))::text::text[]"
        case .session(let schema): "\(schema).\"_audience\"()"
        }
    }
}

extension AccessClause {
    fileprivate var field: MemberField? {
        switch self {
        case .member(let field, _), .unlistedMember(let field, _): field
        case .everything, .unlisted, .owner, .listedOwner, .listed, .related: nil
        }
    }

    fileprivate var relations: RelationEntries? {
        if case .related(_, _, let entries) = self { entries } else { nil }
    }
}
