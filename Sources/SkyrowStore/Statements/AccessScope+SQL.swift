package import SkyrowModel
package import SkyrowPostgres

/// The second interpreter of an access scope: the condition that PostgreSQL judges in the statement itself.
///
/// Its text depends on what kind of caller asks, never on who:
///
/// ```sql
/// "r"."_database" = '_public' AND ("r"."_access" IS NULL OR "r"."_owner" = $1
///   OR ("r"."_access" @> '[{"public": true}]' AND ("r"."_access" @> '[{"public": true, "level": "read"}]' OR …))
///   OR (SELECT $2::text::jsonb) ?| ARRAY[CASE WHEN "r"."_access" -> 0 ->> 'level' IN ('read', 'write')
///      THEN "r"."_access" -> 0 ->> 'role' END, …]
///   OR jsonb_path_exists("r"."_access", 'strict $[*] ? (…)', (SELECT $3::text::jsonb), true))
/// ```
///
/// The path at the end is the whole rule; what stands before it is cheaper and admits most records. The caller's roles
/// stand in sub-selects, so that PostgreSQL parses them at most once, and only for a row that has got there. The third
/// line looks up the roles of a list's first entries among the caller's, where the path would compare each with each;
/// it is there for callers with many roles and statements that judge many rows
/// (Documentation/Decisions/0012-rules-and-bounds.md has the figures). Strict and silent, the path gives false or
/// NULL for a list that was written in psql and is none.
extension AccessScope {
    /// How many rows a statement judges.
    package enum Rows: Hashable, Sendable {
        /// At most one, for which to prepare a look-up costs more than it saves.
        case one
        case many
    }

    /// The condition on the rows of `table`, an alias of the statement; true, false or NULL for each.
    package func condition(on table: SQLIdentifier, variables: AccessVariables?, rows: Rows = .many) -> SQL {
        let databaseCondition: SQL
        switch database {
        case .everyone: databaseCondition = "\(table).\"_database\" = '_public'"
        case .user(let user): databaseCondition = "\(table).\"_database\" = \(user)"
        case .union: databaseCondition = "true"
        }
        guard !clauses.isEmpty else { return "false" }
        if clauses.contains(.everything) { return databaseCondition }
        let admissions = clauses.flatMap { Self.admissions($0, on: table, variables: variables, rows: rows) }
        return "\(databaseCondition) AND (\(admissions.joined(separator: " OR ")))"
    }

    private static func admissions(
        _ clause: AccessClause,
        on table: SQLIdentifier,
        variables: AccessVariables?,
        rows: Rows
    ) -> [SQL] {
        switch clause {
        case .everything:
            return ["true"]
        case .unlisted:
            return ["\(table).\"_access\" IS NULL"]
        case .owner(let user):
            return ["\(table).\"_owner\" = \(user)"]
        case .listed(let audience, let levels):
            var admissions = [publicEntry(on: table, levels: levels)]
            guard audience.user != nil || !audience.roles.isEmpty else { return admissions }
            let variables = variables ?? AccessVariables(audience)
            if let roles = variables.roles(for: rows) {
                admissions.append(roleEntry(on: table, levels: levels, among: "(SELECT \(roles)::text::jsonb)"))
            }
            let levelConditions: [SQL] = levels.map { level in
                switch level {
                case .read: "@.level == \"read\""
                case .write: "@.level == \"write\""
                }
            }
            let level = levelConditions.joined(separator: " || ")
            let path: SQL = "'strict $[*] ? ((@.user_id == $u[*] || @.role == $r[*]) && (\(level)))'"
            let json: SQL = "(SELECT \(variables.json)::text::jsonb)"
            admissions.append("jsonb_path_exists(\(table).\"_access\", \(path), \(json), true)")
            return admissions
        }
    }

    /// A list with a public entry of one of the levels; most lists have none of any, which is found out first.
    private static func publicEntry(on table: SQLIdentifier, levels: [AccessLevel]) -> SQL {
        let entries: [SQL] = levels.map { level in
            switch level {
            case .read: "\(table).\"_access\" @> '[{\"public\": true, \"level\": \"read\"}]'"
            case .write: "\(table).\"_access\" @> '[{\"public\": true, \"level\": \"write\"}]'"
            }
        }
        guard entries.count > 1 else { return entries.joined(separator: " OR ") }
        return """
            (\(table)."_access" @> '[{"public": true}]' AND (\(entries.joined(separator: " OR "))))
            """
    }

    /// So many entries of a list are looked up; what comes after them is left to the path.
    private static let placesLookedUp: [SQL] = ["0", "1", "2", "3"]

    /// A list that names one of the roles in its first entries, with one of the levels.
    private static func roleEntry(on table: SQLIdentifier, levels: [AccessLevel], among roles: SQL) -> SQL {
        let names: [SQL] = levels.map { level in
            switch level {
            case .read: "'read'"
            case .write: "'write'"
            }
        }
        let entries = placesLookedUp.map { place -> SQL in
            let entry: SQL = "\(table).\"_access\" -> \(place)"
            return "CASE WHEN \(entry) ->> 'level' IN (\(names.joined(separator: ", "))) THEN \(entry) ->> 'role' END"
        }
        return "\(roles) ?| ARRAY[\(entries.joined(separator: ", "))]"
    }
}

extension AccessScope {
    /// Appends the values of ``condition(on:variables:rows:)`` in the order of its placeholders.
    func bind(into bindings: inout PostgresBindings, variables: AccessVariables?, rows: Rows = .many) {
        guard !clauses.isEmpty else { return }
        if case .user(let user) = database { bindings.append(user) }
        if clauses.contains(.everything) { return }
        for clause in clauses {
            switch clause {
            case .everything, .unlisted: break
            case .owner(let user): bindings.append(user)
            case .listed(let audience, _):
                guard audience.user != nil || !audience.roles.isEmpty else { continue }
                let variables = variables ?? AccessVariables(audience)
                if let roles = variables.roles(for: rows) { bindings.append(roles) }
                bindings.append(variables.json)
            }
        }
    }

    /// What the text of ``condition(on:variables:rows:)`` depends on, apart from the number of rows.
    var shape: AccessShape {
        var bits: UInt16
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
                if AccessVariables.isMany(audience.roles) { bits |= 256 }
            }
        }
        return AccessShape(bits: bits)
    }
}
