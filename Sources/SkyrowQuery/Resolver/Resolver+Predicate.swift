internal import SkyrowModel

/// How much of its bounds a predicate has used so far.
struct PredicateUse {
    /// How many comparisons, and values in all lists together, a predicate may have.
    static let maximumComparisons = 1000
    static let maximumListValues = 10_000

    var comparisons = 0
    var listValues = 0
    var patterns = 0
    var patternBytes = 0
}

extension Resolver {
    mutating func condition(_ predicate: RecordPredicate) throws(SkyrowError) -> ResolvedPredicate {
        switch predicate {
        case .and(let parts): return .and(try conditions(parts))
        case .or(let parts): return .or(try conditions(parts))
        case .not(let part):
            do throws(SkyrowError) { return .not(try condition(part)) } catch { throw error.at(1) }
        case .comparison(let comparison, let left, let right):
            return try compare(comparison, left, right)
        }
    }

    private mutating func conditions(_ parts: [RecordPredicate]) throws(SkyrowError) -> [ResolvedPredicate] {
        var result: [ResolvedPredicate] = []
        result.reserveCapacity(parts.count)
        for (place, part) in parts.enumerated() {
            do throws(SkyrowError) { result.append(try condition(part)) } catch { throw error.at(place + 1) }
        }
        return result
    }

    private mutating func compare(
        _ comparison: ComparisonOperator,
        _ left: Operand,
        _ right: Operand
    ) throws(SkyrowError) -> ResolvedPredicate {
        use.comparisons += 1
        guard use.comparisons <= PredicateUse.maximumComparisons else {
            throw .predicateInvalid("A predicate has at most \(PredicateUse.maximumComparisons) comparisons.")
        }
        let row = OperatorTable.row(of: comparison)
        if row.takesPattern { try countPattern() }
        switch (left, right) {
        case (.keyPath(let path), .value(let value)):
            let column = try operand(path, at: 1)
            if row.takesPattern, case .string(let pattern) = value { try admitPattern(pattern, path) }
            return try Comparison(column, path, row, literalAt: 2).condition(comparison, value)
        case (.keyPath(let path), .list(let values)):
            let column = try operand(path, at: 1)
            try countList(values, comparison, path)
            return try Comparison(column, path, row, literalAt: 2).membership(values)
        case (.keyPath(let left), .keyPath(let right)):
            let columns = (try operand(left, at: 1), try operand(right, at: 2))
            return try Comparison(columns.0, left, row, literalAt: 2).condition(comparison, beside: columns.1)
        case (.value(let value), .keyPath(let path)):
            if row.takesPattern {
                throw .predicateInvalid("The pattern stands on the right side of \"\(row.name)\".", path).at(1)
            }
            let side = Comparison(try operand(path, at: 2), path, row, literalAt: 1)
            guard comparison != .in else { return try side.containment(of: value) }
            return try side.condition(comparison.turned, value)
        case (.list, .keyPath(let path)):
            if comparison == .eq || comparison == .neq { throw .equalityNotSupported(path).at(1) }
            throw .predicateInvalid("A list stands only on the right side of \"in\".", path).at(1)
        case (.value, .value), (.value, .list), (.list, .value), (.list, .list):
            throw .predicateInvalid("One side of a comparison is a key path.").at(1)
        }
    }

    private mutating func operand(_ path: KeyPath, at place: Int) throws(SkyrowError) -> ResolvedColumn {
        do throws(SkyrowError) { return try column(path) } catch { throw error.at(place) }
    }

    private mutating func countList(
        _ values: [RecordValue],
        _ comparison: ComparisonOperator,
        _ path: KeyPath
    ) throws(SkyrowError) {
        switch comparison {
        case .in: break
        case .eq, .neq: throw .equalityNotSupported(path).at(2)
        case .gt, .gte, .lt, .lte, .like, .ilike:
            throw .predicateInvalid("A list stands only on the right side of \"in\".", path).at(2)
        }
        use.listValues += values.count
        guard use.listValues <= PredicateUse.maximumListValues else {
            throw .predicateInvalid(
                "The lists of a predicate hold at most \(PredicateUse.maximumListValues) values.",
                path
            ).at(2)
        }
    }

    // MARK: Bounds of patterns

    private typealias Limits = RecordPredicate.PatternLimits

    private mutating func countPattern() throws(SkyrowError) {
        use.patterns += 1
        guard use.patterns <= Limits.count else {
            throw .predicateInvalid("A predicate has at most \(Limits.count) patterns.")
        }
    }

    /// Throws `108 InvalidArgument` for a pattern that is too much.
    private mutating func admitPattern(_ pattern: String, _ path: KeyPath) throws(SkyrowError) {
        guard pattern.utf8.count <= Limits.bytes else {
            throw .predicateInvalid("A pattern has at most \(Limits.bytes) bytes.", path).at(2)
        }
        use.patternBytes += pattern.utf8.count
        guard use.patternBytes <= Limits.allBytes else {
            throw .predicateInvalid(
                "The patterns of a predicate have at most \(Limits.allBytes) bytes together.",
                path
            ).at(2)
        }
        guard pattern.utf8.count(where: { $0 == UInt8(ascii: "%") }) <= Limits.wildcards else {
            throw .predicateInvalid("A pattern has at most \(Limits.wildcards) wildcards \"%\".", path).at(2)
        }
    }
}

extension ComparisonOperator {
    /// The operator that means the same when the two sides change places.
    fileprivate var turned: ComparisonOperator {
        switch self {
        case .gt: .lt
        case .gte: .lte
        case .lt: .gt
        case .lte: .gte
        case .eq, .neq, .like, .ilike, .in: self
        }
    }
}
