internal import SkyrowModel

extension ResolvedPredicate {
    /// Whether only the database can evaluate the predicate; ``MemoryInterpreter`` evaluates such conditions to unknown.
    package var needsDatabase: Bool {
        switch self {
        case .and(let parts), .or(let parts), .none(let parts): parts.contains(where: \.needsDatabase)
        case .not(let part): part.needsDatabase
        case .isFound(_, let query), .isNotFound(_, let query): query.predicate?.needsDatabase ?? false
        case .any(let elements), .all(let elements): elements.predicate.needsDatabase
        case .place(let column, .polygon): column.kind == .geometry
        case .match(_, let words): words.language.needsDatabase
        case .place, .covers, .unknown, .isMissing, .isPresent, .constant, .comparison, .columns, .text, .regex,
            .isOneOf,
            .hasID, .holdsText, .json, .array, .isMember, .isRelated, .hasEach:
            false
        }
    }
}
