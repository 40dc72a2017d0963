import SkyrowModel
import SkyrowQuery

/// A value that a field of a record must have for the record to match a predicate.
struct SubscriptionTerm: Hashable, Sendable {
    /// The value of a record that is compared.
    enum Place: Hashable, Sendable {
        /// Ids and references are in the form that clients see.
        case id
        case owner
        case reference(FieldName)
        case metadata(ReservedColumn)
        case field(FieldName)
        /// An element of an array.
        case element(FieldName)
        /// An element of an array of references.
        case referenceElement(FieldName)

        /// An estimate of selectivity without statistics; lower means fewer records with the same value.
        var rank: Int {
            switch self {
            case .id: 0
            case .owner: 1
            case .reference, .referenceElement: 2
            case .metadata: 3
            case .field, .element: 4
            }
        }
    }

    let place: Place
    let value: ResolvedLiteral
}

/// Terms of a predicate; every matching record has at least one of them.
struct SubscriptionTerms: Equatable, Sendable {
    /// Upper bound on the branches of an `or`.
    static let maximumBranches = 8
    /// Upper bound on the values of an `in`.
    static let maximumValues = 100

    private(set) var terms: Set<SubscriptionTerm>
    private var rank: Int

    private init(_ place: SubscriptionTerm.Place, _ values: [ResolvedLiteral]) {
        terms = Set(values.map { SubscriptionTerm(place: place, value: $0) })
        rank = place.rank
    }

    private init(joining parts: [SubscriptionTerms]) {
        terms = parts.reduce(into: []) { $0.formUnion($1.terms) }
        rank = parts.map(\.rank).max() ?? 0
    }

    /// No record matches.
    private static let none = SubscriptionTerms(joining: [])

    /// The terms of a predicate; nil without any, so that every change has to be judged.
    init?(_ predicate: ResolvedPredicate) {
        guard let terms = Self.terms(of: predicate) else { return nil }
        self = terms
    }

    private static func terms(of predicate: ResolvedPredicate) -> SubscriptionTerms? {
        switch predicate {
        case .unknown, .constant(_, false):
            return SubscriptionTerms.none
        case .and(let parts):
            return parts.compactMap { terms(of: $0) }.min { a, b in
                (a.rank, a.terms.count) < (b.rank, b.terms.count)
            }
        case .or(let parts):
            guard parts.count <= maximumBranches else { return nil }
            var found: [SubscriptionTerms] = []
            for part in parts {
                guard let terms = terms(of: part) else { return nil }
                found.append(terms)
            }
            return SubscriptionTerms(joining: found)
        case .comparison(let column, .equal, let literal):
            return one(column, [literal])
        case .isOneOf(let column, let list):
            return one(column, list.literals)
        case .hasID(let column, let ids):
            return one(column, ids.map { .text($0) })
        case .array(let column, let relation, let list):
            guard let place = column.elementPlace else { return nil }
            let values: [ResolvedLiteral]
            switch relation {
            case .holdsAll, .equal: values = Array(list.literals.prefix(1))
            case .holdsAny: values = list.literals
            case .heldBy: return nil
            }
            // Every array contains the empty list.
            guard relation == .holdsAny || !values.isEmpty else { return nil }
            return Self(place, values, of: column)
        case .not, .none, .isMissing, .isPresent, .constant, .comparison, .columns, .text, .match, .regex, .holdsText,
            .json, .place, .covers, .isFound, .isNotFound, .isMember, .isRelated, .any, .all, .hasEach:
            return nil
        }
    }

    private static func one(_ column: ResolvedColumn, _ values: [ResolvedLiteral]) -> SubscriptionTerms? {
        column.valuePlace.flatMap { Self($0, values, of: column) }
    }

    private init?(_ place: SubscriptionTerm.Place, _ values: [ResolvedLiteral], of column: ResolvedColumn) {
        guard values.count <= Self.maximumValues else { return nil }
        var found: [ResolvedLiteral] = []
        for value in values {
            guard let value = value.term(at: place, in: column.kind) else { return nil }
            found.append(value)
        }
        self.init(place, found)
    }
}

extension ResolvedColumn {
    /// Whether the stored value is compared as it is.
    private var isPlain: Bool { join == nil && scope == nil && reading == .stored && !folds }

    fileprivate var valuePlace: SubscriptionTerm.Place? {
        guard isPlain else { return nil }
        switch (place, kind) {
        case (.metadata(.id), _): return .id
        case (.metadata(.owner), _): return .owner
        case (.metadata(.access), _), (.metadata(.database), _): return nil
        case (.metadata(let field), _): return .metadata(field)
        case (.field(let name, _), .reference): return .reference(name)
        case (.field(let name, _), let kind) where kind.isSortable: return .field(name)
        default: return nil
        }
    }

    fileprivate var elementPlace: SubscriptionTerm.Place? {
        guard isPlain, case .field(let name, _) = place, case .array(let element) = kind else { return nil }
        if case .reference = element { return .referenceElement(name) }
        return .element(name)
    }
}

extension ResolvedLiteral {
    /// Returns the value as in ``StoredRecord/forEachTerm(at:_:)``; nil if its type differs from that of the records, with which
    /// it may still be equal.
    fileprivate func term(at place: SubscriptionTerm.Place, in kind: ValueKind) -> ResolvedLiteral? {
        switch (place, self) {
        case (.id, .text(let id)), (.reference, .text(let id)), (.referenceElement, .text(let id)):
            return .text(StoredID.wireID(of: id))
        default: break
        }
        switch (kind, self) {
        case (.string, .text), (.user, .text), (.asset, .text), (.integer, .integer), (.boolean, .boolean),
            (.datetime, .datetime),
            (.bytes, .bytes), (.array(.string), .text), (.array(.integer), .integer), (.array(.boolean), .boolean):
            return self
        // NaN equals itself in a query, but not in a hash table.
        case (.number, .number(let number)), (.array(.number), .number(let number)):
            return number.isNaN ? nil : self
        default: return nil
        }
    }
}

extension StoredRecord {
    /// Calls the body with each value of the record that terms at a place may have.
    func forEachTerm(at place: SubscriptionTerm.Place, _ body: (ResolvedLiteral) -> Void) {
        switch place {
        case .id: body(.text(StoredID.wireID(of: storedID)))
        case .owner: if let owner { body(.text(owner.rawValue)) }
        case .metadata(let column):
            if case .scalar(let value)? = self[column] { body(value) }
        case .reference(let name):
            if case .scalar(.text(let id))? = fields[name] { body(.text(StoredID.wireID(of: id))) }
        case .field(let name):
            if case .scalar(let value)? = fields[name] { body(value) }
        case .element(let name):
            guard case .array(let elements)? = fields[name] else { return }
            for case let element? in elements { body(element) }
        case .referenceElement(let name):
            guard case .array(let elements)? = fields[name] else { return }
            for case .text(let id)? in elements { body(.text(StoredID.wireID(of: id))) }
        }
    }
}
