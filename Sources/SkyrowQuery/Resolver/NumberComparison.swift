/// A comparison of a number column with a literal of the other number type, converted to the column's type without rounding.
///
/// PostgreSQL would compare `bigint` and `double precision` as doubles, for which 9007199254740993 equals …992.
enum NumberComparison<Literal: Hashable & Sendable>: Hashable, Sendable {
    /// The comparison is equivalent to this one.
    case compare(Relation, Literal)
    /// It holds for every number.
    case always
    /// It holds for no number.
    case never
}

extension NumberComparison<Int64> {
    /// Compares an integer column with a double; nil for NaN.
    init?(_ relation: Relation, _ literal: Double) {
        guard !literal.isNaN else { return nil }
        let isAboveAll = literal >= 0x1p63
        let isBelowAll = literal < -0x1p63
        switch relation {
        case .equal: self = Int64(exactly: literal).map { .compare(.equal, $0) } ?? .never
        case .unequal: self = Int64(exactly: literal).map { .compare(.unequal, $0) } ?? .always
        case .greater, .lessOrEqual:
            self = Self.bounded(relation, literal.rounded(.down), above: isAboveAll, below: isBelowAll)
        case .greaterOrEqual, .less:
            self = Self.bounded(relation, literal.rounded(.up), above: isAboveAll, below: isBelowAll)
        }
    }

    private static func bounded(_ relation: Relation, _ literal: Double, above: Bool, below: Bool) -> NumberComparison {
        if let exact = Int64(exactly: literal), !above, !below { return .compare(relation, exact) }
        let isGreater = relation == .greater || relation == .greaterOrEqual
        return above != isGreater ? .always : .never
    }
}

extension NumberComparison<Double> {
    /// Compares a double column with an integer.
    init(_ relation: Relation, _ literal: Int64) {
        let nearest = Double(literal)
        // Above 2^53 the nearest double may be greater or less; no double lies between the two.
        let isExact = Int64(exactly: nearest) == literal
        let isAbove = Int64(exactly: nearest).map { $0 > literal } ?? true
        switch relation {
        case .equal: self = isExact ? .compare(.equal, nearest) : .never
        case .unequal: self = isExact ? .compare(.unequal, nearest) : .always
        case .greater: self = .compare(isExact || !isAbove ? .greater : .greaterOrEqual, nearest)
        case .greaterOrEqual: self = .compare(isExact || isAbove ? .greaterOrEqual : .greater, nearest)
        case .less: self = .compare(isExact || isAbove ? .less : .lessOrEqual, nearest)
        case .lessOrEqual: self = .compare(isExact || !isAbove ? .lessOrEqual : .less, nearest)
        }
    }
}
