import SkyrowQuery

/// A predicate in a form in which order and repetition of its parts make no difference, so that equivalent predicates are judged
/// once, however clients spell them.
indirect enum PredicateKey: Hashable, Sendable {
    case all(Set<PredicateKey>)
    case any(Set<PredicateKey>)
    case not(PredicateKey)
    case none(Set<PredicateKey>)
    case term(ResolvedPredicate)

    init(_ predicate: ResolvedPredicate) {
        switch predicate {
        case .and(let parts):
            let keys = PredicateKey.keys(parts) { if case .all(let inner) = $0 { inner } else { nil } }
            self = keys.count == 1 ? keys.first ?? .all(keys) : .all(keys)
        case .or(let parts):
            let keys = PredicateKey.keys(parts) { if case .any(let inner) = $0 { inner } else { nil } }
            self = keys.count == 1 ? keys.first ?? .any(keys) : .any(keys)
        case .not(let part): self = .not(PredicateKey(part))
        case .none(let parts): self = .none(Set(parts.map { PredicateKey($0) }))
        default: self = .term(predicate)
        }
    }

    /// Returns the keys of some parts, with nested parts of the same kind merged.
    private static func keys(
        _ parts: [ResolvedPredicate],
        inner: (PredicateKey) -> Set<PredicateKey>?
    ) -> Set<PredicateKey> {
        parts.reduce(into: []) { keys, part in
            let key = PredicateKey(part)
            if let parts = inner(key) { keys.formUnion(parts) } else { keys.insert(key) }
        }
    }
}
