internal import SkyrowJSON
internal import SkyrowModel

// Resolution of literals for columns of each type. Errors are relative to the literal; the caller adds its path.

extension Comparison {
    func text(_ comparison: ComparisonOperator, _ text: String) throws(SkyrowError) -> ResolvedPredicate {
        switch row.test {
        case nil where comparison == .startsWith:
            return prefix(.text(text), end: text.endOfPrefix.map { .text($0) }, isEmpty: text.isEmpty)
        case nil: return try related(comparison, .text(text))
        case .pattern?:
            try requirePattern(text)
            if comparison == .ilike { return .text(column.folded, .pattern, TextFolding.fold(text)) }
            return withRange(of: LikePattern(text).head, .text(column, .pattern, text))
        case let test?: return .text(column, test, text)
        }
    }

    /// A text that contains a match of a regular expression, case-folded if `folds`.
    func matching(_ pattern: RegexPattern, folds: Bool) throws(SkyrowError) -> ResolvedPredicate {
        try requireMeaning()
        var text = column
        switch (column.kind, column.reading) {
        case (.json, .inside(let steps)): text = column.reading(.string, at: steps)
        case (.id, _): text.readsWireID = column.idForms != .plain
        default: break
        }
        if folds { return .regex(text.folded, pattern) }
        let seen = Comparison(text, path, row, literalAt: literalPlace)
        return seen.withRange(of: pattern.head, .regex(text, pattern))
    }

    /// The texts with a prefix are a range of the byte order, which an index serves; it does not serve a pattern parameter.
    private func prefix(_ start: ResolvedLiteral, end: ResolvedLiteral?, isEmpty: Bool) -> ResolvedPredicate {
        if isEmpty { return .constant(column, true) }
        let isNotBelow = ResolvedPredicate.comparison(column, .greaterOrEqual, start)
        return end.map { .and([isNotBelow, .comparison(column, .less, $0)]) } ?? isNotBelow
    }

    /// Adds the range of possible matches to a pattern, except for a computed text, which has no index.
    func withRange(of head: String, _ pattern: ResolvedPredicate) -> ResolvedPredicate {
        guard !head.isEmpty, column.reading == .stored, !column.folds, !column.readsWireID else { return pattern }
        switch prefix(.text(head), end: head.endOfPrefix.map { .text($0) }, isEmpty: false) {
        case .and(let range): return .and(range + [pattern])
        case let start: return .and([start, pattern])
        }
    }

    /// Bytes that begin with others.
    func prefix(_ bytes: [UInt8]) -> ResolvedPredicate {
        prefix(.bytes(bytes), end: bytes.endOfPrefix.map { .bytes($0) }, isEmpty: bytes.isEmpty)
    }

    /// Returns a string in the compared form of the column.
    func comparedText(_ value: RecordValue) throws(SkyrowError) -> String {
        let text = try string(value)
        return column.folds ? TextFolding.fold(text) : text
    }

    /// Ids are compared in their stored form for equality, and in their wire form otherwise.
    func id(_ comparison: ComparisonOperator, _ wireID: String) throws(SkyrowError) -> ResolvedPredicate {
        switch comparison {
        case .eq: return .hasID(column, [wireID])
        case .neq: return .not(.hasID(column, [wireID]))
        default:
            var seen = column
            seen.readsWireID = column.idForms != .plain
            return try Comparison(seen, path, row, literalAt: literalPlace).text(comparison, wireID)
        }
    }

    // MARK: Numbers

    func integer(_ comparison: ComparisonOperator, _ value: RecordValue) throws(SkyrowError) -> ResolvedPredicate {
        switch (cast(value, .integer), Relation(comparison)) {
        case (.integer(let literal), let relation?): return .comparison(column, relation, .integer(literal))
        case (.number(let literal), let relation?):
            guard let exact = NumberComparison<Int64>(relation, literal) else { break }
            return self.exact(exact) { .integer($0) }
        default: break
        }
        throw .literalInvalid("a number", path)
    }

    func number(_ comparison: ComparisonOperator, _ value: RecordValue) throws(SkyrowError) -> ResolvedPredicate {
        switch (cast(value, .number), Relation(comparison)) {
        case (.number(let literal), let relation?): return .comparison(column, relation, .number(literal))
        case (.integer(let literal), let relation?):
            return exact(NumberComparison<Double>(relation, literal)) { .number($0) }
        default: throw .literalInvalid("a number", path)
        }
    }

    private func exact<Literal>(
        _ comparison: NumberComparison<Literal>,
        _ literal: (Literal) -> ResolvedLiteral
    ) -> ResolvedPredicate {
        switch comparison {
        case .always: .constant(column, true)
        case .never: .constant(column, false)
        case .compare(let relation, let bound): .comparison(column, relation, literal(bound))
        }
    }

    /// Returns the integer that equals a literal; nil if no integer does.
    func exactInteger(_ value: RecordValue) throws(SkyrowError) -> Int64? {
        switch cast(value, .integer) {
        case .integer(let literal): return literal
        case .number(let literal): return Int64(exactly: literal)
        default: throw .literalInvalid("a number", path)
        }
    }

    /// Returns the double that equals a literal; nil if no double does.
    func exactNumber(_ value: RecordValue) throws(SkyrowError) -> Double? {
        switch cast(value, .number) {
        case .number(let literal): return literal
        case .integer(let literal): return Int64(exactly: Double(literal)) == literal ? Double(literal) : nil
        default: throw .literalInvalid("a number", path)
        }
    }

    // MARK: Values

    /// Converts a text to a type as a save does; returns other values, and texts that cannot be converted, unchanged.
    func cast(_ value: RecordValue, _ cast: TextCast) -> RecordValue {
        guard case .string(let text) = value else { return value }
        return cast.value(of: text) ?? value
    }

    /// Returns the literal of the column's kind that a value is.
    func literal(_ value: RecordValue) throws(SkyrowError) -> ResolvedLiteral {
        guard let literal = column.kind.literal(value) else { throw .literalInvalid(column.kind.noun, path) }
        return literal
    }

    func boolean(_ value: RecordValue) throws(SkyrowError) -> Bool {
        guard case .boolean(let flag) = cast(value, .boolean) else { throw .literalInvalid("a boolean", path) }
        return flag
    }

    /// Geometries that equal a literal or contain a location.
    func geometry(_ comparison: ComparisonOperator, _ value: RecordValue) throws(SkyrowError) -> ResolvedPredicate {
        if comparison == .contains {
            guard case .location(let location) = value else { throw .literalInvalid("a location", path) }
            return .covers(column, location)
        }
        guard case .geometry(let geometry) = value else { throw .literalInvalid("a geometry", path) }
        return try related(comparison, .geometry(geometry))
    }

    func string(_ value: RecordValue) throws(SkyrowError) -> String {
        guard case .string(let text) = value else { throw .literalInvalid("a string", path) }
        guard !text.hasNUL else { throw .literalInvalid("a string without NUL", path) }
        return text
    }

    func userID(_ value: RecordValue) throws(SkyrowError) -> String {
        if case .reference(let id) = value, id.type == .user { return id.id }
        guard case .string = value else { throw .literalInvalid("a user id", path) }
        return try string(value)
    }

    /// Skygear's public database has an empty name.
    func databaseName(_ value: RecordValue) throws(SkyrowError) -> String {
        let name = try string(value)
        return name.isEmpty ? "_public" : name
    }

    func wireID(_ value: RecordValue, of type: RecordTypeName) throws(SkyrowError) -> String {
        switch value {
        case .reference(let id) where id.type == type: return id.id
        case .string: return try string(value)
        default: throw .literalInvalid("a reference to \"\(type)\" or an id", path)
        }
    }

    /// Returns the id of a reference's target; unlike for ids compared by order, a text must be a valid id.
    func referredID(_ value: RecordValue, of type: RecordTypeName) throws(SkyrowError) -> String {
        guard case .reference(let id) = cast(value, .reference(type)), id.type == type else {
            throw .literalInvalid("a reference to \"\(type)\" or an id", path)
        }
        return id.id
    }

    private func requirePattern(_ pattern: String) throws(SkyrowError) {
        let escapes = pattern.utf8.reversed().prefix { $0 == UInt8(ascii: "\\") }.count
        guard escapes.isMultiple(of: 2) else {
            throw .predicateInvalid("A pattern must not end with its escape character.", path)
        }
    }
}

extension ResolvedColumn {
    /// The column without case folding.
    var unfolded: ResolvedColumn {
        var column = self
        column.folds = false
        return column
    }

    /// The column with case folding.
    var folded: ResolvedColumn {
        var column = self
        column.folds = true
        return column
    }
}
