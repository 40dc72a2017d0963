internal import SkyrowModel
internal import SkyrowPostgres
internal import SkyrowQuery

/// The SQL of the condition under which a field rule holds for a record.
extension FieldReach {
    /// `"r"."_owner" = $1`, or `("r"."_owner" = $1 OR "r"."members" @> ARRAY[$1::text])`.
    ///
    /// - Parameter audience: the keys of the caller's subjects, an array of texts, for conditions on access lists.
    func condition(
        on table: SQLIdentifier,
        _ user: StatementTemplate,
        audience: StatementTemplate = "'{}'::text[]"
    ) -> StatementTemplate {
        terms.map { term -> StatementTemplate in
            // In a fixed order, so that equal conditions have equal texts.
            var ways: [StatementTemplate] = term.contains(.owner) ? ["\(table).\"_owner\" = \(user)"] : []
            if term.contains(.notOwner) { ways.append("\(table).\"_owner\" IS DISTINCT FROM \(user)") }
            for action in AccessAction.allCases where term.contains(.listed(action)) {
                ways.append("coalesce(\(action.isListed(on: table, for: audience)), false)")
            }
            for field in term.members.sorted(by: { $0.name < $1.name }) {
                let isMember: StatementTemplate = AccessShape.member(of: field, on: table, is: user)
                // A term never has both `member` and `notMember`, which would always hold. An empty field names no one.
                ways.append(term.contains(.member(field)) ? isMember : "NOT coalesce(\(isMember), false)")
            }
            return ways.count == 1 ? ways[0] : "(\(ways.joined(separator: " OR ")))"
        }.joined(separator: " AND ")
    }
}

extension Set<FieldReach.Way> {
    fileprivate var members: [MemberField] {
        compactMap { way in
            switch way {
            case .member(let field), .notMember(let field): field
            case .owner, .notOwner, .listed: nil
            }
        }
    }
}

extension AccessAction {
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
        let template = reach.condition(on: table, "\(parameter: .access(.user))")
        return template.replacingParameters { _ in user }
    }
}
