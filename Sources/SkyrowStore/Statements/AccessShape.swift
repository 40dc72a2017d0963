internal import SkyrowModel
internal import SkyrowPostgres

/// The parts of an access scope that determine the text of its condition: the kind of database, and the condition on records.
///
/// Cached statement texts have it in their key (``StatementText``). A text cannot depend on anything else, since it is made from
/// this type alone.
package struct AccessShape: Hashable, Sendable {
    enum Database {
        case everyone
        case user
        case union
    }

    private let database: Database
    private let condition: AccessCondition

    init(_ condition: AccessCondition, in database: Database) {
        self.condition = condition
        self.database = database
    }

    /// Whether the condition admits all public records without an access list, for any values of its parameters.
    var admitsUnlisted: Bool { database == .everyone && condition.terms.allSatisfy { $0.contains(.unlisted) } }

    /// The condition on the rows of `table`, an alias of the statement.
    ///
    /// - Parameter hasCallerInRow: whether each row brings the values of a different caller. The audience is then not in a
    ///   sub-select, which PostgreSQL would run for each row.
    func condition(on table: SQLIdentifier, hasCallerInRow: Bool = false) -> StatementTemplate {
        condition(on: table, of: hasCallerInRow ? .inRow : .bound)
    }

    /// The condition on the rows of `table`, an alias of the statement.
    func condition(on table: SQLIdentifier, of caller: AccessCaller) -> StatementTemplate {
        if condition.isNever { return "false" }
        var text: StatementTemplate =
            switch database {
            case .everyone: "\(table).\"_database\" = '_public'"
            case .user: "\(table).\"_database\" = \(caller.database)"
            case .union: "true"
            }
        for term in condition.terms {
            text += " AND (\(term.map { $0.text(on: table, of: caller) }.joined(separator: " OR ")))"
        }
        return text
    }
}

extension AccessScope {
    /// The parts of the scope that determine the text of the condition.
    var shape: AccessShape {
        switch database {
        case .everyone: AccessShape(condition, in: .everyone)
        case .user: AccessShape(condition, in: .user)
        case .union: AccessShape(condition, in: .union)
        }
    }
}
