internal import SkyrowModel

/// The use of a predicate's limits so far.
struct PredicateUse {
    /// Upper bounds on the comparisons of a predicate, and on the values of all its lists together.
    static let maximumComparisons = 1000
    static let maximumListValues = 10_000
    /// Upper bound on the values of `contains_all`, `contains_any` and `contained_by`: PostgreSQL compares each with every
    /// element of an array before it checks for a cancellation.
    static let maximumElements = 1000
    static let maximumWordQueries = 8
    /// Upper bound on the size of all regular expressions together.
    static let maximumTransitions = 2 * RegexPattern.maximumTransitions

    var comparisons = 0
    /// The nesting depth of `and`, `or`, `not` and `none`.
    var depth = 0
    var listValues = 0
    var patterns = 0
    var patternBytes = 0
    var subqueries = 0
    /// The number of paths to several records.
    var lists = 0
    /// The nesting depth of `any` and `all`.
    var elementDepth = 0
    /// The number of `near` conditions.
    var nears = 0
    /// The number of `match` conditions.
    var words = 0
    /// The size of all regular expressions together.
    var transitions = 0
}

extension Resolver {
    mutating func condition(_ predicate: RecordPredicate) throws(SkyrowError) -> ResolvedPredicate {
        try asking(isForKnownValue(predicate) ? .equal : .compare) { resolver throws(SkyrowError) in
            try resolver.resolved(predicate)
        }
    }

    private mutating func resolved(_ predicate: RecordPredicate) throws(SkyrowError) -> ResolvedPredicate {
        if let condition = try conditionOnList(predicate) { return condition }
        switch predicate {
        case .and(let parts): return .and(try conditions(parts))
        case .or(let parts):
            alternatives += 1
            defer { alternatives -= 1 }
            return .or(try conditions(parts))
        case .none(let parts):
            alternatives += 1
            defer { alternatives -= 1 }
            return .none(try conditions(parts))
        case .not(let part):
            try enter()
            alternatives += 1
            defer {
                use.depth -= 1
                alternatives -= 1
            }
            do throws(SkyrowError) { return .not(try condition(part)) } catch { throw error.at(1) }
        case .comparison(let comparison, let left, let right): return try compare(comparison, left, right)
        case .between(let operand, let least, let most): return try between(operand, least, most)
        case .match(let operand, let words): return try match(operand, words)
        case .regex(let operand, let pattern, let ignoresCase): return try regex(operand, pattern, ignoresCase)
        case .found(let operand, let query, let isNegated): return try found(operand, query, isNegated)
        case .elements(let path, let quantifier, let part): return try elements(path, quantifier, part)
        case .place(let path, let condition): return try place(path, condition)
        case .related(let owner, let path): return try related(to: owner, path)
        case .userRelation(let path, let relation, let direction):
            return try userRelation(path, relation, direction)
        }
    }

    /// `["func", "userRelation", keypath, relation]`: false for a missing value, and for a caller who is not logged in.
    private mutating func userRelation(
        _ path: KeyPath,
        _ relation: UserRelation,
        _ direction: RelationDirection
    ) throws(SkyrowError) -> ResolvedPredicate {
        try countComparison()
        let (column, path) = try subject(.keyPath(path), at: 2)
        switch column.kind {
        case .user, .string, .reference(.user): break
        default: throw .predicateInvalid("\"userRelation\" takes a key path that leads to a user id.", path).at(2)
        }
        do throws(SkyrowError) { try access.requireReading(.user) } catch { throw error.at(3) }
        guard let user = access.actor else { return .or([]) }
        return .isRelated(column, ResolvedUserRelation(user: user, relation: relation, direction: direction))
    }

    /// Whether a predicate restricts the result to records whose field has a value that it names: it is not part of an
    /// alternative or negation, and applies to the queried records.
    private func isForKnownValue(_ predicate: RecordPredicate) -> Bool {
        guard !isAboutOneRecord, alternatives == 0, subqueryDepth == 0, use.elementDepth == 0, case .record = start
        else { return false }
        switch predicate {
        case .comparison(.eq, .keyPath(let path), .value(let value)):
            return path.components.count == 1 && path.jsonType == nil && value != .null
        case .comparison(.in, .keyPath(let path), .list(let values)):
            return path.components.count == 1 && path.jsonType == nil && !values.contains(.null)
        default: return false
        }
    }

    private mutating func conditions(_ parts: [RecordPredicate]) throws(SkyrowError) -> [ResolvedPredicate] {
        try enter()
        defer { use.depth -= 1 }
        var result: [ResolvedPredicate] = []
        result.reserveCapacity(parts.count)
        for (place, part) in parts.enumerated() {
            do throws(SkyrowError) { result.append(try condition(part)) } catch { throw error.at(place + 1) }
        }
        return result
    }

    private mutating func enter() throws(SkyrowError) {
        use.depth += 1
        guard use.depth <= RecordPredicate.maximumDepth else {
            throw .predicateInvalid("Predicates can be nested at most \(RecordPredicate.maximumDepth) deep.")
        }
    }

    mutating func countComparison() throws(SkyrowError) {
        use.comparisons += 1
        guard use.comparisons <= PredicateUse.maximumComparisons else {
            throw .predicateInvalid("A predicate can have at most \(PredicateUse.maximumComparisons) comparisons.")
        }
    }

    private mutating func compare(
        _ comparison: ComparisonOperator,
        _ left: Operand,
        _ right: Operand
    ) throws(SkyrowError) -> ResolvedPredicate {
        try countComparison()
        let row = comparison.row
        if row.takesPattern { try countPattern() }
        switch (left, right) {
        case (.keyPath, .value(let value)), (.function, .value(let value)):
            let (column, path) = try subject(left, at: 1)
            try admitText(value, of: row, column, path)
            return try Comparison(column, path, row, literalAt: 2).condition(comparison, value)
        case (.keyPath, .list(let values)), (.function, .list(let values)):
            let (column, path) = try subject(left, at: 1)
            try countList(values, row, path)
            return try Comparison(column, path, row, literalAt: 2).condition(comparison, among: values)
        case (.keyPath, .keyPath), (.keyPath, .function), (.function, .keyPath), (.function, .function):
            let (column, path) = try subject(left, at: 1)
            let (other, _) = try subject(right, at: 2)
            return try Comparison(column, path, row, literalAt: 2).condition(comparison, beside: other)
        case (.value(let value), .keyPath(let path)), (.value(let value), .function(_, let path)):
            guard let turned = comparison.turned else {
                throw .predicateInvalid("The key path must be on the left side of \"\(row.name)\".", path).at(1)
            }
            let side = Comparison(try subject(right, at: 2).column, path, row, literalAt: 1)
            guard comparison != .in else { return try side.containment(of: value) }
            return try side.condition(turned, value)
        case (.list, .keyPath(let path)), (.list, .function(_, let path)):
            throw .predicateInvalid("A list can only be on the right side of \"\(row.name)\".", path).at(1)
        case (.value, .value), (.value, .list), (.list, .value), (.list, .list):
            throw .predicateInvalid(SkyrowError.noKeyPath).at(1)
        }
    }

    /// `["between", keypath, least, most]`, with both bounds included.
    private mutating func between(
        _ operand: Operand,
        _ least: RecordValue,
        _ most: RecordValue
    ) throws(SkyrowError) -> ResolvedPredicate {
        try countComparison()
        let (column, path) = try subject(operand, at: 1)
        let lower = Comparison(column, path, OperatorTable.between, literalAt: 2)
        let upper = Comparison(column, path, OperatorTable.between, literalAt: 3)
        return .and([try lower.condition(.gte, least), try upper.condition(.lte, most)])
    }

    /// `["match", keypath, "star -trek wars*"]`
    private mutating func match(_ operand: Operand, _ text: String) throws(SkyrowError) -> ResolvedPredicate {
        try countComparison()
        let (column, path) = try subject(operand, at: 1)
        try Comparison(column, path, OperatorTable.match, literalAt: 2).requireMeaning()
        use.words += 1
        guard use.words <= PredicateUse.maximumWordQueries else {
            throw .predicateInvalid(
                "A predicate can have \"match\" at most \(PredicateUse.maximumWordQueries) times.",
                path
            )
        }
        guard !text.hasNUL else { throw SkyrowError.literalInvalid("a string without NUL", path).at(2) }
        do throws(WordQueryMisfit) {
            let words = try WordQuery(text, in: column.language)
            // Words are case-folded in any case.
            matched = (column.unfolded, words)
            return words.hasWords ? .match(column.unfolded, words) : .constant(column, false)
        } catch {
            throw .predicateInvalid(error.reason, path).at(2)
        }
    }

    /// `["regex", keypath, pattern, "i"]`
    private mutating func regex(
        _ operand: Operand,
        _ text: String,
        _ ignoresCase: Bool
    ) throws(SkyrowError) -> ResolvedPredicate {
        try countComparison()
        try countPattern()
        let (column, path) = try subject(operand, at: 1)
        try admitBytes(text, path)
        let pattern: RegexPattern
        do throws(RegexMisfit) {
            pattern = try RegexPattern(text, folds: ignoresCase || column.folds)
        } catch {
            throw .predicateInvalid("Character \(error.position) of the expression: \(error.reason)", path).at(2)
        }
        use.transitions += pattern.transitions
        guard use.transitions <= PredicateUse.maximumTransitions else {
            throw .predicateInvalid("The regular expressions of the predicate are too large in total.", path).at(2)
        }
        let comparison = Comparison(column, path, OperatorTable.regex, literalAt: 2)
        return try comparison.matching(pattern, folds: ignoresCase || column.folds)
    }

    /// Resolves a key path or a function of one, at an index of a predicate's array.
    mutating func subject(
        _ operand: Operand,
        at place: Int
    ) throws(SkyrowError) -> (column: ResolvedColumn, path: KeyPath) {
        do throws(SkyrowError) { return try subject(operand) } catch { throw error.at(place) }
    }

    /// Resolves a key path or a function of one.
    mutating func subject(_ operand: Operand) throws(SkyrowError) -> (column: ResolvedColumn, path: KeyPath) {
        switch operand {
        case .keyPath(let path):
            return (try column(path), path)
        case .function(let function, let path):
            do throws(SkyrowError) { return (try self.function(function, of: path), path) } catch {
                throw error.at(2)
            }
        case .value, .list:
            throw .predicateInvalid(SkyrowError.noKeyPath)
        }
    }

    /// Applies a function to the column of a key path.
    mutating func function(_ function: FieldFunction, of path: KeyPath) throws(SkyrowError) -> ResolvedColumn {
        let column = try column(path)
        if case .relation = column.kind, case .size = function { return try memberCount(of: column, path) }
        return try column.applying(function, path)
    }

    private mutating func countList(
        _ values: [RecordValue],
        _ row: QueryOperator,
        _ path: KeyPath
    ) throws(SkyrowError) {
        guard row.takesList else { throw .predicateInvalid("\"\(row.name)\" does not take a list.", path).at(2) }
        let most = row.relation == nil ? PredicateUse.maximumListValues : PredicateUse.maximumElements
        guard values.count <= most else {
            throw .predicateInvalid("\"\(row.name)\" takes at most \(most) values.", path).at(2)
        }
        use.listValues += values.count
        guard use.listValues <= PredicateUse.maximumListValues else {
            throw .predicateInvalid(
                "The lists of a predicate can hold at most \(PredicateUse.maximumListValues) values.",
                path
            ).at(2)
        }
    }

    // MARK: Bounds of patterns

    private typealias Limits = RecordPredicate.PatternLimits

    /// Bounds texts that are searched for at every position of a value.
    private mutating func admitText(
        _ value: RecordValue,
        of row: QueryOperator,
        _ column: ResolvedColumn,
        _ path: KeyPath
    ) throws(SkyrowError) {
        guard row.test != nil, case .string(let text) = value else { return }
        if row.takesPattern {
            try admitPattern(text, path)
        } else if row.operands == .text || !column.valueClass.isSubset(of: .arrays) {
            try countPattern()
            try admitBytes(text, path)
        }
    }

    private mutating func countPattern() throws(SkyrowError) {
        use.patterns += 1
        guard use.patterns <= Limits.count else {
            throw .predicateInvalid("A predicate can have at most \(Limits.count) patterns.")
        }
    }

    /// Throws `108 InvalidArgument` for a pattern above the bounds.
    private mutating func admitPattern(_ pattern: String, _ path: KeyPath) throws(SkyrowError) {
        try admitBytes(pattern, path)
        guard pattern.utf8.count(where: { $0 == UInt8(ascii: "%") }) <= Limits.wildcards else {
            throw .predicateInvalid("A pattern can have at most \(Limits.wildcards) wildcards \"%\".", path).at(2)
        }
    }

    private mutating func admitBytes(_ pattern: String, _ path: KeyPath) throws(SkyrowError) {
        guard pattern.utf8.count <= Limits.bytes else {
            throw .predicateInvalid("A pattern can have at most \(Limits.bytes) bytes.", path).at(2)
        }
        use.patternBytes += pattern.utf8.count
        guard use.patternBytes <= Limits.allBytes else {
            throw .predicateInvalid(
                "The patterns of a predicate can have at most \(Limits.allBytes) bytes in total.",
                path
            ).at(2)
        }
    }
}

extension ComparisonOperator {
    /// The equivalent operator with the two sides swapped; nil for an operator that needs the key path on its left.
    fileprivate var turned: ComparisonOperator? {
        switch self {
        case .gt: .lt
        case .gte: .lte
        case .lt: .gt
        case .lte: .gte
        case .eq, .neq, .in: self
        default: nil
        }
    }
}

extension ResolvedColumn {
    /// Applies a function to the column; throws `108 InvalidArgument` if it does not apply to the column's kind.
    func applying(_ function: FieldFunction, _ path: KeyPath) throws(SkyrowError) -> ResolvedColumn {
        switch function {
        case .fold:
            guard kind == .string else { throw .predicateInvalid("\"fold\" applies only to strings.", path) }
            return folded
        case .size:
            var column = self
            column.kind = .integer
            switch (kind, reading) {
            case (.array, _): column.reading = .count
            case (.json, .inside(let steps)): column.reading = .size(steps)
            case (.json, _): column.reading = .size([])
            default: throw .predicateInvalid("\"size\" applies only to arrays.", path)
            }
            return column
        case .distance(let center):
            guard kind == .location else { throw .predicateInvalid("\"distance\" applies only to locations.", path) }
            return distance(from: center)
        case .rank:
            throw .predicateInvalid("\"rank\" can only be used in \"sort\" and \"include\".", path)
        case .collate:
            throw .predicateInvalid("\"collate\" can only be used in \"sort\".", path)
        }
    }
}
