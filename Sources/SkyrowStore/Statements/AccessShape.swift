internal import SkyrowModel
internal import SkyrowPostgres

/// What the text of an access condition depends on, and the only thing it is made of.
///
/// It is a scope without its values: the kind of database, and the kind of each clause in order. Kept texts have it in
/// their key (``StatementText``); a text that depended on anything else could not be written, since it is not here.
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
        /// What is asked of a list, where it is more than reading.
        static let update = Clause(rawValue: 16)
        static let delete = Clause(rawValue: 32)
        static let member = Clause(rawValue: 64)

        var action: AccessAction? {
            contains(.update) ? .update : contains(.delete) ? .delete : nil
        }
    }

    /// The database in the lowest byte, then a byte for each clause; at most seven. A number, since a shape is made for
    /// every request.
    private var packed: UInt64
    /// All terms, of a scope that rules of its type have made; nil for any other, as most are.
    private var terms: [[RuledClause]]?

    /// A clause that may name a field.
    private struct RuledClause: Hashable {
        var clause: Clause
        var field: MemberField?
    }

    init(_ scope: AccessScope) {
        switch scope.database {
        case .everyone: packed = Database.everyone.rawValue
        case .user: packed = Database.user.rawValue
        case .union: packed = Database.union.rawValue
        }
        guard scope.others.isEmpty, scope.clauses.count <= 7, !scope.clauses.contains(where: { $0.field != nil }) else {
            terms = ([scope.clauses] + scope.others).map { term in
                term.map { RuledClause(clause: Self.clause($0), field: $0.field) }
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
        case .listed(_, .read): return .listed
        case .listed(_, .update): return [.listed, .update]
        case .listed(_, .delete): return [.listed, .delete]
        case .member: return .member
        case .unlistedMember: return [.unlisted, .member]
        }
    }

    private var allTerms: [[RuledClause]] {
        if let terms { return terms }
        let clauses = (1...7).map { Clause(rawValue: UInt8(truncatingIfNeeded: packed >> UInt64(8 * $0))) }
        return [clauses.filter { !$0.isEmpty }.map { RuledClause(clause: $0) }]
    }

    /// Whether the condition admits rows of everyone's database whatever its values are, those without a list among them.
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
    func condition(on table: SQLIdentifier) -> StatementTemplate {
        let terms = allTerms
        guard !terms.contains(where: \.isEmpty) else { return "false" }
        var condition: StatementTemplate
        switch Database(rawValue: packed & 0xFF) {
        case .everyone: condition = "\(table).\"_database\" = '_public'"
        case .user: condition = "\(table).\"_database\" = \(parameter: .access(.database))"
        case .union: condition = "true"
        case nil: return "false"
        }
        for term in terms where !term.contains(where: { $0.clause.contains(.everything) }) {
            let admissions = term.map { Self.admission($0, on: table) }
            condition += " AND (\(admissions.joined(separator: " OR ")))"
        }
        return condition
    }

    private static func admission(_ ruled: RuledClause, on table: SQLIdentifier) -> StatementTemplate {
        let clause = ruled.clause
        if let field = ruled.field {
            let isMember = member(of: field, on: table)
            return clause.contains(.unlisted) ? "(\(table).\"_access\" IS NULL AND \(isMember))" : isMember
        }
        if clause.contains(.unlisted) { return "\(table).\"_access\" IS NULL" }
        if clause.contains(.owner) { return "\(table).\"_owner\" = \(parameter: .access(.user))" }
        let isNamed: StatementTemplate =
            "\(table).\"_access\" ?| (SELECT \(parameter: .access(.audience))::text::text[])"
        guard let action = clause.action else { return "coalesce(\(isNamed), false)" }
        let levels = AccessLevel.allCases.filter { $0.allows(action) }.map { "\(literal: $0.rawValue)" as SQL }
        return """
            (\(isNamed) AND EXISTS (SELECT FROM jsonb_each_text(\(table)."_access") AS "e" ("subject", "level") \
            WHERE "e"."level" IN (\(levels.joined(separator: ", "))) \
            AND "e"."subject" = ANY ((SELECT \(parameter: .access(.audience))::text::text[])::text[])))
            """
    }

    /// Whether the user stands in a field. The catalogue has seen that there is such a column (``MemberField``).
    private static func member(of field: MemberField, on table: SQLIdentifier) -> StatementTemplate {
        guard let column = try? SQLIdentifier(field.name.rawValue) else { return "false" }
        return field.isArray
            ? "\(table).\(column) @> ARRAY[\(parameter: .access(.user))::text]"
            : "\(table).\(column) = \(parameter: .access(.user))"
    }
}

extension AccessClause {
    fileprivate var field: MemberField? {
        switch self {
        case .member(let field, _), .unlistedMember(let field, _): field
        case .everything, .unlisted, .owner, .listed: nil
        }
    }
}
