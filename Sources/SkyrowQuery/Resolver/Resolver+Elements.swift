internal import SkyrowModel

// Conditions on the elements of an array or the members of a relation.

extension Resolver {
    /// `["any", keypath, predicate]`, `["all", keypath, predicate]`
    mutating func elements(
        _ path: KeyPath,
        _ quantifier: RecordPredicate.Quantifier,
        _ part: RecordPredicate
    ) throws(SkyrowError) -> ResolvedPredicate {
        try countComparison()
        let row = OperatorTable.row(of: quantifier)
        let column: ResolvedColumn
        do throws(SkyrowError) { column = try self.column(path) } catch { throw error.at(1) }
        try Comparison(column, path, row, literalAt: 2).requireMeaning()
        use.elementDepth += 1
        defer { use.elementDepth -= 1 }
        guard use.elementDepth <= RecordPredicate.maximumElementDepth else {
            throw .predicateInvalid(
                "\"any\" and \"all\" can be nested at most \(RecordPredicate.maximumElementDepth) deep."
            )
        }
        let elements = try elements(of: column, path) { inner throws(SkyrowError) in
            do throws(SkyrowError) { return try inner.condition(part) } catch { throw error.at(2) }
        }
        return switch quantifier {
        case .any: .any(elements)
        case .all: .all(elements)
        }
    }

    /// Resolves the elements of an array with the predicate from `body`; for an array of references, the records behind them.
    private mutating func elements(
        of column: ResolvedColumn,
        _ path: KeyPath,
        at place: Int = 1,
        _ body: (inout Resolver) throws(SkyrowError) -> ResolvedPredicate
    ) throws(SkyrowError) -> ResolvedElements {
        let depth = use.elementDepth
        guard let target = column.kind.listTarget else {
            let outer = start
            start = .value(column.element(atDepth: depth))
            defer { start = outer }
            return ResolvedElements(column: column, depth: depth, predicate: try body(&self))
        }
        guard let type = try type(target, at: place) else {
            throw SkyrowError.recordQueryInvalid("The type of the references does not exist.", path).at(place)
        }
        do throws(SkyrowError) { try countList(path) } catch { throw error.at(place) }
        return try inside(type) { inner, number throws(SkyrowError) in
            inner.start = .listedRecord
            let predicate = try body(&inner)
            let records = ResolvedElements.Records(
                number: number,
                type: target,
                joins: inner.joins,
                idCollation: type.collation(of: .id)
            )
            return ResolvedElements(column: column, records: records, depth: depth, predicate: predicate)
        }
    }

    private mutating func countList(_ path: KeyPath) throws(SkyrowError) {
        use.lists += 1
        guard use.lists <= RecordPredicate.maximumLists else {
            throw .recordQueryInvalid(
                "A query can lead to several records at most \(RecordPredicate.maximumLists) times.",
                path
            )
        }
    }

    /// Returns a column with the number of members that the caller may read.
    mutating func memberCount(of column: ResolvedColumn, _ path: KeyPath) throws(SkyrowError) -> ResolvedColumn {
        guard let target = column.kind.listTarget, let type = try type(target) else {
            throw .recordQueryInvalid("The type of the members does not exist.", path)
        }
        try countList(path)
        return try inside(type) { _, number throws(SkyrowError) in
            var count = column
            count.kind = .integer
            count.reading = .members(number: number, of: target)
            return count
        }
    }

    // MARK: Paths to several records

    /// Resolves a condition whose key path leads to several records, one of which has to meet it; nil for other conditions.
    mutating func conditionOnList(_ predicate: RecordPredicate) throws(SkyrowError) -> ResolvedPredicate? {
        switch predicate {
        case .and, .or, .not, .none, .related:
            return nil
        case .comparison(let comparison, let left, let right):
            if let list = try list(on: left, at: 1) {
                if right.path != nil { return try compare(comparison, left, right, several: left) }
                if list.isWhole { return try members(list, comparison, right, literalAt: 2) }
                if comparison == .neq || comparison == .nin { throw Self.negated(comparison.rawValue, left) }
                return try anyOf(list, at: 1) { .comparison(comparison, left.following($0), right) }
            }
            guard let list = try list(on: right, at: 2) else { return nil }
            if left.path != nil { return try compare(comparison, left, right, several: right) }
            if list.isWhole, comparison == .eq || comparison == .neq {
                return try members(list, comparison, left, literalAt: 1)
            }
            if list.isWhole, comparison == .in, case .value(let value) = left {
                // The same as for an array.
                return value == .null ? .unknown : try members(list, .contains, left, literalAt: 1)
            }
            guard !list.isWhole else { return nil }
            if comparison == .neq { throw Self.negated(comparison.rawValue, right) }
            return try anyOf(list, at: 2) { .comparison(comparison, left, right.following($0)) }
        case .userRelation(let path, let relation, let direction):
            guard let list = try list(on: .keyPath(path), at: 2), !list.isWhole else { return nil }
            return try anyOf(list, at: 2) { .userRelation($0, relation, direction) }
        case .between(let operand, let least, let most):
            guard let list = try list(on: operand, at: 1), !list.isWhole else { return nil }
            return try anyOf(list, at: 1) { .between(operand.following($0), least, most) }
        case .match(let operand, let words):
            guard let list = try list(on: operand, at: 1), !list.isWhole else { return nil }
            return try anyOf(list, at: 1) { .match(operand.following($0), words) }
        case .regex(let operand, let pattern, let ignoresCase):
            guard let list = try list(on: operand, at: 1), !list.isWhole else { return nil }
            return try anyOf(list, at: 1) { .regex(operand.following($0), pattern, ignoresCase: ignoresCase) }
        case .found(let operand, let query, let isNegated):
            // For a relation, the members are looked up.
            guard let list = try list(on: operand, at: 1) else { return nil }
            if isNegated { throw Self.negated(OperatorTable.notInQuery.name, operand) }
            return try anyOf(list, at: 1) { .found(operand.following($0), by: query, isNegated: false) }
        case .elements(let path, let quantifier, let part):
            guard let list = try list(on: .keyPath(path), at: 1), !list.isWhole else { return nil }
            if quantifier == .all { throw Self.negated(quantifier.rawValue, .keyPath(path)) }
            return try anyOf(list, at: 1) { .elements($0, quantifier, part) }
        case .place(let path, let condition):
            guard let list = try list(on: .keyPath(path), at: 1), !list.isWhole else { return nil }
            if case .near = condition, ordersByDistance {
                throw SkyrowError.recordQueryInvalid(
                    "A query with \"near\" on several records requires \"sort\".",
                    path
                ).at(0)
            }
            return try anyOf(list, at: 1) { .place($0, condition) }
        }
    }

    /// The several records that a key path leads to.
    private struct List {
        let path: KeyPath
        let column: ResolvedColumn
        /// The rest of the path, which starts at these records.
        let rest: KeyPath

        /// Whether the path ends there: at a relation.
        var isWhole: Bool { rest.components.isEmpty }
    }

    private mutating func list(on operand: Operand, at place: Int) throws(SkyrowError) -> List? {
        guard let path = operand.path else { return nil }
        do throws(SkyrowError) {
            guard let (column, rest) = try list(on: path) else { return nil }
            let list = List(path: path, column: column, rest: rest)
            // A function applies to the relation as a whole.
            if list.isWhole, case .function = operand { return nil }
            return list
        } catch {
            throw error.at(place)
        }
    }

    /// Resolves conditions on the members of a relation: whether a record is one, and whether there are any.
    private mutating func members(
        _ list: List,
        _ comparison: ComparisonOperator,
        _ other: Operand,
        literalAt place: Int
    ) throws(SkyrowError) -> ResolvedPredicate {
        let row = comparison.row
        func member(_ comparison: ComparisonOperator, _ other: Operand) throws(SkyrowError) -> ResolvedPredicate {
            try anyOf(list, at: 3 - place) { .comparison(comparison, .keyPath($0), other) }
        }
        switch (comparison, other) {
        case (.exists, .value(.boolean(let isPresent))):
            try countComparison()
            let exists = ResolvedPredicate.any(
                try elements(of: list.column, list.path) { _ throws(SkyrowError) in .and([]) }
            )
            return isPresent ? exists : .not(exists)
        case (.eq, .value(.null)), (.neq, .value(.null)):
            return try members(list, .exists, .value(.boolean(comparison == .neq)), literalAt: place)
        case (.neq, .value), (.nin, .list): throw Self.negated(comparison.rawValue, .keyPath(list.path))
        case (.eq, .value), (.in, .list): return try member(comparison, other)
        case (.contains, .value(let value)) where value != .null: return try member(.eq, other)
        case (.containsAny, .list(let values)) where !values.contains(.null): return try member(.in, other)
        case (.containsAll, .list(let values)) where !values.contains(.null):
            return values.isEmpty ? .and([]) : Self.each(of: try member(.in, other))
        default:
            // `refusal(of:_:)` throws for operators that do not apply and for invalid literals.
            let column = list.column
            return try Comparison(column, list.path, row, literalAt: place).refusal(of: comparison, other)
        }
    }

    /// Turns the condition that any of some records is a member into one that each is; removes duplicates.
    private static func each(of found: ResolvedPredicate) -> ResolvedPredicate {
        guard case .any(var elements) = found, case .hasID(let column, let ids) = elements.predicate else {
            return found
        }
        var known: Set<TextKey> = []
        let unique = ids.filter { known.insert(TextKey($0)).inserted }
        elements.predicate = .hasID(column, unique)
        return unique.count == 1 ? .any(elements) : .hasEach(elements)
    }

    // MARK: Two paths

    /// The several records that one side of a comparison leads to, and the column behind them.
    private struct Side {
        /// Each list is nested in the previous one, and has no predicate yet.
        var lists: [ResolvedElements]
        var column: ResolvedColumn
        var path: KeyPath
    }

    /// Resolves a comparison of two key paths that lead to several records: it holds if it holds for any pair of their records.
    private mutating func compare(
        _ comparison: ComparisonOperator,
        _ left: Operand,
        _ right: Operand,
        several: Operand
    ) throws(SkyrowError) -> ResolvedPredicate {
        try countComparison()
        if comparison == .neq { throw Self.negated(comparison.rawValue, several) }
        var one = try side(left, at: 1)
        var other = try side(right, at: 2)
        let row = comparison.row
        // Columns are relative to the innermost records: those of the side with several, or of the right side if both have
        // several.
        if other.lists.isEmpty { other.column.scope = scope } else { one.column.scope = innermost(one) }
        if let first = other.lists.indices.first, !one.lists.isEmpty { other.lists[first].column.scope = scope }
        let condition = try Comparison(one.column, one.path, row, literalAt: 2).condition(
            comparison,
            beside: other.column
        )
        return (one.lists + other.lists).reversed().reduce(condition) { condition, list in
            var list = list
            list.predicate = condition
            return .any(list)
        }
    }

    private func innermost(_ side: Side) -> ResolvedColumn.Scope {
        side.lists.last?.records.map { .inside($0.number) } ?? scope
    }

    private mutating func side(_ operand: Operand, at place: Int) throws(SkyrowError) -> Side {
        guard let list = try list(on: operand, at: place) else {
            let (column, path) = try subject(operand, at: place)
            return Side(lists: [], column: column, path: path)
        }
        var inside: Side?
        do throws(SkyrowError) {
            let elements = try elements(of: list.column, list.path, at: place) { inner throws(SkyrowError) in
                inside = try inner.side(operand.following(list.rest), at: place)
                return .and([])
            }
            guard var side = inside else { throw .predicateInvalid(SkyrowError.noKeyPath) }
            side.lists.insert(elements, at: 0)
            side.path = list.path
            return side
        } catch {
            throw error.naming(list.path, insteadOf: list.rest)
        }
    }

    /// `["related_to", ref, "likes"]`
    mutating func related(to owner: RecordID, _ path: KeyPath) throws(SkyrowError) -> ResolvedPredicate {
        try countComparison()
        guard let type = try type(owner.type, at: 1) else {
            throw SkyrowError(
                .recordQueryInvalid,
                SkyrowError.unknownTypeMessage,
                info: ["arguments": .list([.string("predicate"), .string(owner.type.rawValue)])]
            ).at(1)
        }
        do throws(SkyrowError) { try countList(path) } catch { throw error.at(2) }
        let target = root
        let member = idColumn
        return try inside(type) { inner, number throws(SkyrowError) in
            inner.subqueryDepth += 1
            do throws(SkyrowError) {
                guard path.components.count == 1 else {
                    throw SkyrowError.recordQueryInvalid("\"related_to\" takes the name of a relation.", path)
                }
                let relation = try inner.column(path)
                guard case .relation(let members) = relation.kind else {
                    throw SkyrowError.predicateInvalid("\"related_to\" takes the name of a relation.", path)
                }
                guard members == target.name else {
                    throw SkyrowError.predicateInvalid("The members of the relation are of another type.", path)
                }
                return .isMember(
                    member,
                    ResolvedOwner(
                        number: number,
                        type: type.name,
                        relation: relation,
                        idColumn: inner.idColumn,
                        wireID: owner.id
                    )
                )
            } catch {
                throw error.at(2)
            }
        }
    }

    private mutating func anyOf(
        _ list: List,
        at place: Int,
        _ predicate: (KeyPath) -> RecordPredicate
    ) throws(SkyrowError) -> ResolvedPredicate {
        do throws(SkyrowError) {
            return .any(
                try elements(of: list.column, list.path, at: place) { inner throws(SkyrowError) in
                    try inner.condition(predicate(list.rest))
                }
            )
        } catch {
            throw error.naming(list.path, insteadOf: list.rest)
        }
    }

    private static func negated(_ name: String, _ operand: Operand) -> SkyrowError {
        SkyrowError.predicateInvalid(
            "This key path leads to several records, so \"\(name)\" is ambiguous; use \"none\" or \"any\".",
            operand.path
        ).at(0)
    }
}

extension Operand {
    /// The key path of the operand or of its function.
    fileprivate var path: KeyPath? {
        switch self {
        case .keyPath(let path), .function(_, let path): path
        case .value, .list: nil
        }
    }

    /// The operand with another key path.
    fileprivate func following(_ path: KeyPath) -> Operand {
        switch self {
        case .keyPath: .keyPath(path)
        case .function(let function, _): .function(function, path)
        case .value, .list: self
        }
    }
}

extension ResolvedColumn {
    /// Returns the column of an element of the array.
    func element(atDepth depth: Int) -> ResolvedColumn {
        var element = ResolvedColumn(place: .element(depth: depth), kind: .json, collation: collation)
        if case .array(let type) = kind {
            element.kind = ValueKind(type.fieldType)
        } else {
            // `null` counts as a missing element; the others are ordered by the literal's type.
            element.reading = .inside([])
        }
        return element
    }
}

extension SkyrowError {
    /// The error with the full path of the request in place of its resolved part.
    func naming(_ path: KeyPath, insteadOf rest: KeyPath) -> SkyrowError {
        guard case .list(let arguments) = info["arguments"] else { return self }
        var error = self
        error.info["arguments"] = .list(
            arguments.map { $0 == .string(rest.description) ? .string(path.description) : $0 }
        )
        return error
    }
}
