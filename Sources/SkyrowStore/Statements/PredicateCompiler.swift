internal import SkyrowModel
internal import SkyrowPostgres

/// Makes the SQL condition of a predicate; each operator has a meaning for each type of field or is refused.
///
/// NULL behaves as in SQL, of which these rows are the consequences (an absent field is NULL):
///
/// | Predicate | Where the field is NULL | Where it is not |
/// |---|---|---|
/// | `eq` with `null` | matches | does not match |
/// | `neq` with `null` | does not match | matches |
/// | `gt gte lt lte like ilike in` with `null` | does not match, nor does `not` of it | the same |
/// | any comparison with a value | does not match, nor does `not` of it | as compared |
/// | `in` with a list | as with a value; `null` in a list is passed over | matches one of the list |
/// | `in` with an empty list | does not match; `not` of it matches | the same |
/// | a path through a reference to nothing, or to what the caller may not read | the field is NULL | |
///
/// Refused with 108: a literal of another type than the field, a pattern that ends in its escape character, an ordering
/// of references or JSON. Refused with 111: equality with an object or array, as in Skygear.
struct PredicateCompiler {
    /// So many comparisons, and values in all lists together, may a predicate have.
    static let maximumComparisons = 1000
    static let maximumListValues = 10_000

    var names: QueryNames
    private var comparisons = 0
    private var listValues = 0
    private var patterns = 0
    private var patternBytes = 0

    init(names: QueryNames) {
        self.names = names
    }

    mutating func condition(_ predicate: Predicate) throws(SkyrowError) -> SQL {
        switch predicate {
        case .and(let parts): return try joined(parts, separator: " AND ", empty: "true")
        case .or(let parts): return try joined(parts, separator: " OR ", empty: "false")
        case .not(let part): return "NOT (\(try condition(part)))"
        case .comparison(let comparison, let left, let right): return try compare(comparison, left, right)
        }
    }

    /// Counts a pattern; throws `108 InvalidArgument` for one that is too much.
    private mutating func admitPattern(_ left: Operand, _ right: Operand) throws(SkyrowError) {
        typealias Limits = RecordPredicate.PatternLimits
        patterns += 1
        guard patterns <= Limits.count else {
            throw .predicateInvalid("A predicate has at most \(Limits.count) patterns.")
        }
        guard case .keyPath(let path) = left, case .value(.string(let pattern)) = right else { return }
        guard pattern.utf8.count <= Limits.bytes else {
            throw .predicateInvalid("A pattern has at most \(Limits.bytes) bytes.", path)
        }
        patternBytes += pattern.utf8.count
        guard patternBytes <= Limits.allBytes else {
            throw .predicateInvalid("The patterns of a predicate have at most \(Limits.allBytes) bytes together.", path)
        }
        guard pattern.utf8.count(where: { $0 == UInt8(ascii: "%") }) <= Limits.wildcards else {
            throw .predicateInvalid("A pattern has at most \(Limits.wildcards) wildcards \"%\".", path)
        }
    }

    private mutating func joined(_ parts: [Predicate], separator: SQL, empty: SQL) throws(SkyrowError) -> SQL {
        if parts.isEmpty { return empty }
        var result = SQL()
        for (index, part) in parts.enumerated() {
            if index > 0 { result += separator }
            result += "(\(try condition(part)))"
        }
        return result
    }

    private mutating func compare(
        _ comparison: ComparisonOperator,
        _ left: Operand,
        _ right: Operand
    ) throws(SkyrowError) -> SQL {
        comparisons += 1
        guard comparisons <= Self.maximumComparisons else {
            throw .predicateInvalid("A predicate has at most \(Self.maximumComparisons) comparisons.")
        }
        if comparison.takesPattern { try admitPattern(left, right) }
        switch (left, right) {
        case (.keyPath(let path), .value(let value)):
            guard comparison != .in else {
                throw .predicateInvalid("The right side of \"in\" is a list or the key path of a JSON field.", path)
            }
            return try Comparison.condition(try names.column(path), comparison, value)
        case (.keyPath(let path), .list(let values)):
            let column = try names.column(path)
            switch comparison {
            case .in: break
            case .eq, .neq: throw .equalityNotSupported(path)
            case .gt, .gte, .lt, .lte, .like, .ilike:
                throw .predicateInvalid("A list stands only on the right side of \"in\".", path)
            }
            listValues += values.count
            guard listValues <= Self.maximumListValues else {
                throw .predicateInvalid("The lists of a predicate hold at most \(Self.maximumListValues) values.", path)
            }
            return try Comparison.membership(column, values)
        case (.keyPath(let left), .keyPath(let right)):
            return try Comparison.condition(try names.column(left), comparison, try names.column(right))
        case (.value(let value), .keyPath(let path)):
            let column = try names.column(path)
            switch comparison {
            case .eq, .neq: return try Comparison.condition(column, comparison, value)
            case .gt: return try Comparison.condition(column, .lt, value)
            case .gte: return try Comparison.condition(column, .lte, value)
            case .lt: return try Comparison.condition(column, .gt, value)
            case .lte: return try Comparison.condition(column, .gte, value)
            case .in: return try Comparison.containment(of: value, in: column)
            case .like, .ilike:
                throw .predicateInvalid("The pattern stands on the right side of \"\(comparison.rawValue)\".", path)
            }
        case (.list, .keyPath(let path)):
            if comparison == .eq || comparison == .neq { throw .equalityNotSupported(path) }
            throw .predicateInvalid("A list stands only on the right side of \"in\".", path)
        case (.value, .value), (.value, .list), (.list, .value), (.list, .list):
            throw .predicateInvalid("One side of a comparison is a key path.")
        }
    }
}

extension SkyrowError {
    static func equalityNotSupported(_ path: KeyPath) -> SkyrowError {
        SkyrowError(
            .notSupported,
            "A field cannot be compared with an object or array; ask for \"in\" or for null.",
            info: ["arguments": .list([.string("predicate"), .string(path.description)])]
        )
    }
}
