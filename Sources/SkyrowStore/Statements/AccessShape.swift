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
        /// A list may name the caller or one of its roles.
        static let named = Clause(rawValue: 16)
        /// The caller has many roles, which are looked up.
        static let manyRoles = Clause(rawValue: 32)
        static let read = Clause(rawValue: 64)
        static let write = Clause(rawValue: 128)
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
        case .listed(let audience, let levels):
            var shape: Clause = .listed
            if audience.user != nil || !audience.roles.isEmpty { shape.insert(.named) }
            if AccessVariables.isMany(audience.roles) { shape.insert(.manyRoles) }
            if levels.contains(.read) { shape.insert(.read) }
            if levels.contains(.write) { shape.insert(.write) }
            return shape
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
        rows: AccessScope.Rows,
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
        let admissions = clauses.enumerated().flatMap { place, clause in
            Self.admissions(clause, at: place, on: table, rows: rows, scope)
        }
        return "\(database) AND (\(admissions.joined(separator: " OR ")))"
    }

    private static func admissions(
        _ clause: Clause,
        at place: Int,
        on table: SQLIdentifier,
        rows: AccessScope.Rows,
        _ scope: (StatementParameter.Access) -> StatementParameter
    ) -> [StatementTemplate] {
        if clause.contains(.unlisted) { return ["\(table).\"_access\" IS NULL"] }
        if clause.contains(.owner) {
            return ["\(table).\"_owner\" = \(parameter: scope(.owner(clause: place)))"]
        }
        var admissions: [StatementTemplate] = ["\(publicEntry(on: table, clause))"]
        guard clause.contains(.named) else { return admissions }
        if clause.contains(.manyRoles), rows == .many {
            let roles = scope(.roles(clause: place))
            admissions.append(
                "(SELECT \(parameter: roles)::text::jsonb) ?| ARRAY[\(namedRoles(on: table, clause))]"
            )
        }
        var levels: [SQL] = []
        if clause.contains(.read) { levels.append("@.level == \"read\"") }
        if clause.contains(.write) { levels.append("@.level == \"write\"") }
        let level = levels.joined(separator: " || ")
        let path: SQL = "'strict $[*] ? ((@.user_id == $u[*] || @.role == $r[*]) && (\(level)))'"
        let subjects = scope(.subjects(clause: place))
        admissions.append(
            """
            jsonb_path_exists(\(table)."_access", \(path), (SELECT \(parameter: subjects)::text::jsonb), true)
            """
        )
        return admissions
    }

    /// A list with a public entry of one of the levels; most lists have none of any, which is found out first.
    private static func publicEntry(on table: SQLIdentifier, _ clause: Clause) -> SQL {
        var entries: [SQL] = []
        if clause.contains(.read) {
            entries.append("\(table).\"_access\" @> '[{\"public\": true, \"level\": \"read\"}]'")
        }
        if clause.contains(.write) {
            entries.append("\(table).\"_access\" @> '[{\"public\": true, \"level\": \"write\"}]'")
        }
        guard entries.count > 1 else { return entries.joined(separator: " OR ") }
        return """
            (\(table)."_access" @> '[{"public": true}]' AND (\(entries.joined(separator: " OR "))))
            """
    }

    /// How many entries of a list are looked up; those after them are left to the path.
    private static let placesLookedUp: [SQL] = ["0", "1", "2", "3"]

    /// The roles that the first entries of a list name, with one of the levels.
    private static func namedRoles(on table: SQLIdentifier, _ clause: Clause) -> SQL {
        var names: [SQL] = []
        if clause.contains(.read) { names.append("'read'") }
        if clause.contains(.write) { names.append("'write'") }
        let entries = placesLookedUp.map { place -> SQL in
            let entry: SQL = "\(table).\"_access\" -> \(place)"
            return "CASE WHEN \(entry) ->> 'level' IN (\(names.joined(separator: ", "))) THEN \(entry) ->> 'role' END"
        }
        return entries.joined(separator: ", ")
    }
}
