internal import SkyrowModel

/// A comparison of a number column with a literal of the other number type, converted to the column's type without rounding.
///
/// PostgreSQL would compare `bigint` and `double precision` as doubles, for which 9007199254740993 equals …992.
enum NumberComparison<Literal: Hashable & Sendable>: Hashable, Sendable {
    /// The comparison is equivalent to this one.
    case compare(ComparisonOperator, Literal)
    /// It holds for every number.
    case always
    /// It holds for no number.
    case never
}

extension NumberComparison<Int64> {
    /// Compares an integer column with a double; nil for NaN and for operators that do not compare numbers.
    init?(_ comparison: ComparisonOperator, _ literal: Double) {
        guard !literal.isNaN else { return nil }
        let isAboveAll = literal >= 0x1p63
        let isBelowAll = literal < -0x1p63
        switch comparison {
        case .eq: self = Int64(exactly: literal).map { .compare(.eq, $0) } ?? .never
        case .neq: self = Int64(exactly: literal).map { .compare(.neq, $0) } ?? .always
        case .gt: self = Self.bounded(.gt, literal.rounded(.down), above: isAboveAll, below: isBelowAll)
        case .gte: self = Self.bounded(.gte, literal.rounded(.up), above: isAboveAll, below: isBelowAll)
        case .lt: self = Self.bounded(.lt, literal.rounded(.up), above: isAboveAll, below: isBelowAll)
        case .lte: self = Self.bounded(.lte, literal.rounded(.down), above: isAboveAll, below: isBelowAll)
        case .like, .ilike, .startsWith, .endsWith, .in, .nin, .contains, .containsAll, .containsAny, .containedBy,
            .exists:
            return nil
        }
    }

    private static func bounded(
        _ comparison: ComparisonOperator,
        _ literal: Double,
        above: Bool,
        below: Bool
    ) -> NumberComparison {
        if let exact = Int64(exactly: literal), !above, !below { return .compare(comparison, exact) }
        let isGreater = comparison == .gt || comparison == .gte
        return above != isGreater ? .always : .never
    }
}

extension NumberComparison<Double> {
    /// Compares a double column with an integer; nil for operators that do not compare numbers.
    init?(_ comparison: ComparisonOperator, _ literal: Int64) {
        let nearest = Double(literal)
        // Above 2^53 the nearest double may be greater or less; no double lies between the two.
        let isExact = Int64(exactly: nearest) == literal
        let isAbove = Int64(exactly: nearest).map { $0 > literal } ?? true
        switch comparison {
        case .eq: self = isExact ? .compare(.eq, nearest) : .never
        case .neq: self = isExact ? .compare(.neq, nearest) : .always
        case .gt: self = .compare(isExact || !isAbove ? .gt : .gte, nearest)
        case .gte: self = .compare(isExact || isAbove ? .gte : .gt, nearest)
        case .lt: self = .compare(isExact || isAbove ? .lt : .lte, nearest)
        case .lte: self = .compare(isExact || !isAbove ? .lte : .lt, nearest)
        case .like, .ilike, .startsWith, .endsWith, .in, .nin, .contains, .containsAll, .containsAny, .containedBy,
            .exists:
            return nil
        }
    }
}
