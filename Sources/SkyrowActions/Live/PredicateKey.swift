import SkyrowQuery

/// A predicate in a form in which the order and the repetition of its parts make no difference: what is the same for every
/// record is asked once, however clients spell it.
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

    /// The keys of some parts, those of the same kind put in one.
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
