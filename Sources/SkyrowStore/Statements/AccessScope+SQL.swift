package import SkyrowModel
package import SkyrowPostgres

/// The second interpreter of an access scope: the condition that PostgreSQL judges in the statement itself.
///
/// Its text depends on what kind of caller asks, never on who or on the number of roles:
///
/// ```sql
/// "r"."_database" = '_public' AND ("r"."_access" IS NULL OR "r"."_owner" = $1
///   OR "r"."_access" @> '[{"public": true, "level": "read"}]'
///   OR "r"."_access" @> '[{"public": true, "level": "write"}]'
///   OR jsonb_path_exists("r"."_access", 'strict $[*] ? (…)', (SELECT $2::text::jsonb), true))
/// ```
///
/// The caller's roles stand in a sub-select, so that PostgreSQL parses them at most once, and only for a row that the
/// cheaper tests before it have not admitted (Documentation/Decisions/0005-one-statement.md has the figures). Strict
/// and silent, the path gives false or NULL for a list that was written in psql and is none.
extension AccessScope {
    /// The condition on the rows of `table`, an alias of the statement; true, false or NULL for each.
    package func condition(on table: SQLIdentifier, variables: AccessVariables?) -> SQL {
        let databaseCondition: SQL
        switch database {
        case .everyone: databaseCondition = "\(table).\"_database\" = '_public'"
        case .user(let user): databaseCondition = "\(table).\"_database\" = \(user)"
        case .union: databaseCondition = "true"
        }
        guard !clauses.isEmpty else { return "false" }
        if clauses.contains(.everything) { return databaseCondition }
        let admissions = clauses.flatMap { Self.admissions($0, on: table, variables: variables) }
        return "\(databaseCondition) AND (\(admissions.joined(separator: " OR ")))"
    }

    private static func admissions(
        _ clause: AccessClause,
        on table: SQLIdentifier,
        variables: AccessVariables?
    ) -> [SQL] {
        switch clause {
        case .everything:
            return ["true"]
        case .unlisted:
            return ["\(table).\"_access\" IS NULL"]
        case .owner(let user):
            return ["\(table).\"_owner\" = \(user)"]
        case .listed(let audience, let levels):
            var admissions: [SQL] = levels.map { level in
                switch level {
                case .read: "\(table).\"_access\" @> '[{\"public\": true, \"level\": \"read\"}]'"
                case .write: "\(table).\"_access\" @> '[{\"public\": true, \"level\": \"write\"}]'"
                }
            }
            guard audience.user != nil || !audience.roles.isEmpty else { return admissions }
            let levelConditions: [SQL] = levels.map { level in
                switch level {
                case .read: "@.level == \"read\""
                case .write: "@.level == \"write\""
                }
            }
            let level = levelConditions.joined(separator: " || ")
            let path: SQL = "'strict $[*] ? ((@.user_id == $u[*] || @.role == $r[*]) && (\(level)))'"
            let json = (variables ?? AccessVariables(audience)).json
            admissions.append("jsonb_path_exists(\(table).\"_access\", \(path), (SELECT \(json)::text::jsonb), true)")
            return admissions
        }
    }
}

extension AccessScope {
    /// Appends the values of ``condition(on:variables:)`` in the order of its placeholders.
    func bind(into bindings: inout PostgresBindings, variables: AccessVariables?) {
        guard !clauses.isEmpty else { return }
        if case .user(let user) = database { bindings.append(user) }
        if clauses.contains(.everything) { return }
        for clause in clauses {
            switch clause {
            case .everything, .unlisted: break
            case .owner(let user): bindings.append(user)
            case .listed(let audience, _):
                guard audience.user != nil || !audience.roles.isEmpty else { continue }
                bindings.append((variables ?? AccessVariables(audience)).json)
            }
        }
    }

    /// What the text of ``condition(on:variables:)`` depends on.
    var shape: AccessShape {
        var bits: UInt8
        switch database {
        case .everyone: bits = 0
        case .user: bits = 1
        case .union: bits = 2
        }
        for clause in clauses {
            switch clause {
            case .everything: bits |= 4
            case .unlisted: bits |= 8
            case .owner: bits |= 16
            case .listed(let audience, let levels):
                bits |= 32
                if audience.user != nil || !audience.roles.isEmpty { bits |= 64 }
                if levels.contains(.read) { bits |= 128 }
            }
        }
        return AccessShape(bits: bits)
    }
}
