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

    private struct Clause: OptionSet {
        var rawValue: UInt8

        static let everything = Clause(rawValue: 1)
        static let unlisted = Clause(rawValue: 2)
        static let owner = Clause(rawValue: 4)
        static let listed = Clause(rawValue: 8)
        /// What is asked of a list, where it is more than reading.
        static let update = Clause(rawValue: 16)
        static let delete = Clause(rawValue: 32)

        var action: AccessAction? {
            contains(.update) ? .update : contains(.delete) ? .delete : nil
        }
    }

    /// The database in the lowest byte, then a byte for each clause; at most seven. A number, since a shape is made for
    /// every request.
    private var packed: UInt64

    init(_ scope: AccessScope) {
        switch scope.database {
        case .everyone: packed = Database.everyone.rawValue
        case .user: packed = Database.user.rawValue
        case .union: packed = Database.union.rawValue
        }
        precondition(scope.clauses.count <= 7, "An access scope has more clauses than its shape holds.")
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
        }
    }

    private var clauses: [Clause] {
        (1...7).map { Clause(rawValue: UInt8(truncatingIfNeeded: packed >> UInt64(8 * $0))) }.filter { !$0.isEmpty }
    }

    // MARK: Text

    /// The condition on the rows of `table`, an alias of the statement.
    ///
    /// - Parameter scope: whose condition it is; the scope of reading unless said otherwise.
    func condition(
        on table: SQLIdentifier,
        of scope: (StatementParameter.Access) -> StatementParameter = StatementParameter.read
    ) -> StatementTemplate {
        let clauses = clauses
        guard !clauses.isEmpty else { return "false" }
        let database: StatementTemplate
        switch Database(rawValue: packed & 0xFF) {
        case .everyone: database = "\(table).\"_database\" = '_public'"
        case .user: database = "\(table).\"_database\" = \(parameter: scope(.database))"
        case .union: database = "true"
        case nil: return "false"
        }
        if clauses.contains(.everything) { return database }
        let admissions = clauses.enumerated().map { place, clause in
            Self.admission(clause, at: place, on: table, scope)
        }
        return "\(database) AND (\(admissions.joined(separator: " OR ")))"
    }

    private static func admission(
        _ clause: Clause,
        at place: Int,
        on table: SQLIdentifier,
        _ scope: (StatementParameter.Access) -> StatementParameter
    ) -> StatementTemplate {
        if clause.contains(.unlisted) { return "\(table).\"_access\" IS NULL" }
        if clause.contains(.owner) {
            return "\(table).\"_owner\" = \(parameter: scope(.owner(clause: place)))"
        }
        let audience = scope(.audience(clause: place))
        let isNamed: StatementTemplate = "\(table).\"_access\" ?| (SELECT \(parameter: audience)::text::text[])"
        guard let action = clause.action else { return "coalesce(\(isNamed), false)" }
        let levels = AccessLevel.allCases.filter { $0.allows(action) }.map { "\(literal: $0.rawValue)" as SQL }
        return """
            (\(isNamed) AND EXISTS (SELECT FROM jsonb_each_text(\(table)."_access") AS "e" ("subject", "level") \
            WHERE "e"."level" IN (\(levels.joined(separator: ", "))) \
            AND "e"."subject" = ANY ((SELECT \(parameter: audience)::text::text[])::text[])))
            """
    }
}
