package import SkyrowModel

extension Resolver {
    /// The types of all records that the result depends on, and of those that it includes.
    package var types: Set<RecordTypeName> {
        var types = Set(joinedTypes.map(\.name) + [root.name])
        for (root, joined) in subqueries { types.formUnion(joined.map(\.name) + [root.name]) }
        for list in lists { types.formUnion(list.resolver.types) }
        return types
    }
}

extension ResolvedQuery {
    /// Whether the result depends on members of relations or on relations of users, which are not records.
    package var leadsToRelations: Bool {
        (predicate?.leadsToRelations ?? false) || sort.contains { $0.column.leadsToRelations }
            || inclusions.contains { $0.number?.leadsToRelations ?? false }
            || lists.contains { $0.column.leadsToRelations || $0.sort.contains { $0.column.leadsToRelations } }
    }
}

extension ResolvedAggregate {
    /// Whether the result depends on members of relations or on relations of users, which are not records.
    package var leadsToRelations: Bool {
        records.leadsToRelations
            || members.contains { member in
                switch member.source {
                case .key(let column, _): column.leadsToRelations
                case .function(_, let column): column?.leadsToRelations ?? false
                }
            }
    }
}

extension ResolvedPredicate {
    /// Whether it reads members of relations, which are rows of other tables.
    var leadsToRelations: Bool {
        switch self {
        case .and(let parts), .or(let parts), .none(let parts): parts.contains(where: \.leadsToRelations)
        case .not(let part): part.leadsToRelations
        case .any(let elements), .all(let elements), .hasEach(let elements):
            elements.column.leadsToRelations || elements.predicate.leadsToRelations
        case .isFound(let column, let query), .isNotFound(let column, let query):
            column.leadsToRelations || (query.predicate?.leadsToRelations ?? false)
                || query.key.leadsToRelations || (query.first?.sort ?? []).contains { $0.column.leadsToRelations }
        case .isMember, .isRelated: true
        case .isMissing(let column), .isPresent(let column), .constant(let column, _), .comparison(let column, _, _),
            .text(let column, _, _), .match(let column, _), .regex(let column, _), .isOneOf(let column, _),
            .hasID(let column, _), .holdsText(let column, _), .json(let column, _, _), .array(let column, _, _),
            .place(let column, _), .covers(let column, _):
            column.leadsToRelations
        case .columns(let left, _, let right): left.leadsToRelations || right.leadsToRelations
        case .unknown: false
        }
    }
}

extension ResolvedColumn {
    fileprivate var leadsToRelations: Bool {
        if case .members = reading { return true }
        if case .relation = kind { return true }
        return false
    }
}
