internal import SkyrowModel

extension ResolvedQuery {
    /// Whether ``MemoryInterpreter`` can evaluate the query for a record from that record alone.
    package var isAboutRecordsAlone: Bool {
        guard !needsOtherRecords, let predicate else { return !needsOtherRecords }
        return !predicate.needsDatabase && !predicate.countsMembers
    }
}

extension ResolvedPredicate {
    /// Whether it compares the number of members of a relation, which are rows of another table.
    var countsMembers: Bool {
        switch self {
        case .and(let parts), .or(let parts), .none(let parts): parts.contains(where: \.countsMembers)
        case .not(let part): part.countsMembers
        case .any(let elements), .all(let elements), .hasEach(let elements):
            elements.column.countsMembers || elements.predicate.countsMembers
        case .isMissing(let column), .isPresent(let column), .constant(let column, _), .comparison(let column, _, _),
            .pattern(let column, _), .match(let column, _), .regex(let column, _), .suffix(let column, _),
            .substring(let column, _), .isOneOf(let column, _), .hasID(let column, _), .holdsText(let column, _),
            .json(let column, _), .array(let column, _, _), .place(let column, _), .covers(let column, _),
            .isFound(let column, _), .isNotFound(let column, _), .isMember(let column, _), .isRelated(let column, _):
            column.countsMembers
        case .columns(let left, _, let right): left.countsMembers || right.countsMembers
        case .unknown: false
        }
    }
}

extension ResolvedColumn {
    fileprivate var countsMembers: Bool {
        if case .members = reading { return true }
        if case .relation = kind { return true }
        return false
    }
}
