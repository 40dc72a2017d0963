internal import SkyrowModel

/// A comparison of a column with a literal, a list or another column, resolved according to the column's kind.
struct Comparison {
    let column: ResolvedColumn
    let path: KeyPath
    let row: QueryOperator
    /// The index of the other operand in the comparison's array.
    let literalPlace: Int

    init(_ column: ResolvedColumn, _ path: KeyPath, _ row: QueryOperator, literalAt place: Int) {
        self.column = column
        self.path = path
        self.row = row
        literalPlace = place
    }

    /// Compares a column with a literal.
    func condition(_ comparison: ComparisonOperator, _ value: RecordValue) throws(SkyrowError) -> ResolvedPredicate {
        guard !row.takesList else { throw listMissing(comparison) }
        if comparison == .exists { return try existence(value) }
        if case .null = value { return try withNull() }
        try requireMeaning()
        do throws(SkyrowError) { return try withLiteral(comparison, value) } catch { throw error.at(literalPlace) }
    }

    private func listMissing(_ comparison: ComparisonOperator) -> SkyrowError {
        .predicateInvalid(
            comparison == .in
                ? "The right side of \"in\" must be a list, or the key path of a JSON field or a geometry."
                : "The right side of \"\(row.name)\" must be a list.",
            path
        ).at(literalPlace)
    }

    /// `["exists", keypath, true]`
    private func existence(_ value: RecordValue) throws(SkyrowError) -> ResolvedPredicate {
        guard case .boolean(let isPresent) = value else {
            throw .predicateInvalid("The right side of \"exists\" must be true or false.", path).at(literalPlace)
        }
        return isPresent ? .isPresent(column) : .isMissing(column)
    }

    private func withNull() throws(SkyrowError) -> ResolvedPredicate {
        switch row.null {
        case .isMissing: return .isMissing(column)
        case .isPresent: return .isPresent(column)
        case .unknown, .none: return .unknown
        case .refused:
            throw .predicateInvalid("\"\(row.name)\" does not take null; use \"exists\" to test for a value.", path)
                .at(literalPlace)
        }
    }

    /// Throws `108 InvalidArgument` if the operator does not apply to the kind of the column.
    func requireMeaning() throws(SkyrowError) {
        guard !row.classes.contains(column.valueClass) else { return }
        let message =
            switch column.kind {
            case _ where row.operands == .elements: "Only arrays have elements."
            case _ where row.operands == .near: "Only locations can be compared with \"\(row.name)\"."
            case _ where row.operands == .box || row.operands == .polygon:
                "Only locations and geometries can be compared with \"\(row.name)\"."
            case .geometry:
                "Geometries have no order and are not text; test what they contain, or whether they lie in a box or polygon."
            case .location:
                "Locations have no order and are not text; use \"near\", \"within_box\" or \"within_polygon\"."
            case .json where row.operands == .query, .array where row.operands == .query:
                "A field of this type cannot be compared with the values of a query."
            case .json:
                "JSON fields have no order and are not text; compare a value inside the field."
            case .array: "Arrays have no order and are not text."
            case .relation:
                "Relations can only be tested for members, with \"eq\", \"in\", \"contains\", \"any\" and others."
            case .asset: "Files can only be compared with \"eq\", \"neq\", \"in\" and \"nin\"."
            case .access, .opaque: "A field of this type can only be compared with null."
            case .reference where !takesText:
                "References can only be compared with \"eq\", \"neq\", \"in\" and \"nin\"."
            default:
                takesText
                    ? "Only strings can be compared with \"\(row.name)\"."
                    : "Only arrays can be compared with \"\(row.name)\"."
            }
        throw .predicateInvalid(message, path).at(0)
    }

    private var takesText: Bool {
        switch row.operands {
        case .pattern, .text, .element, .regex, .words: true
        default: false
        }
    }

    /// Compares a column with a literal other than `null`. Errors are relative to the literal; the caller adds its path.
    func withLiteral(_ comparison: ComparisonOperator, _ value: RecordValue) throws(SkyrowError) -> ResolvedPredicate {
        switch column.kind {
        case .string: return try text(comparison, comparedText(value))
        case .user: return try text(comparison, userID(value))
        case .database: return try text(comparison, databaseName(value))
        case .id(let type): return try id(comparison, wireID(value, of: type))
        case .reference(let type): return try id(comparison, referredID(value, of: type))
        case .integer: return try integer(comparison, value)
        case .number:
            if case .distance(let center) = column.reading, comparison == .lt || comparison == .lte {
                return try isWithin(center, value)
            }
            return try number(comparison, value)
        case .geometry: return try geometry(comparison, value)
        case .json: return try json(comparison, value)
        case .array(let element): return try array(of: element, comparison, value)
        case .relation: throw .literalInvalid("a reference", path)
        default:
            let literal = try literal(value)
            if comparison == .startsWith, case .bytes(let bytes) = literal { return prefix(bytes) }
            return try related(comparison, literal)
        }
    }

    /// Throws the reason why a comparison is invalid: the operator or the operand does not fit the column.
    func refusal(of comparison: ComparisonOperator, _ other: Operand) throws(SkyrowError) -> ResolvedPredicate {
        try requireMeaning()
        switch other {
        case .value(.null):
            return try withNull()
        case .value(let value) where comparison == .exists:
            return try existence(value)
        case .value:
            throw listMissing(comparison)
        case .list(let values):
            let place = values.firstIndex(of: .null)
            guard row.takesList, let place else {
                throw .predicateInvalid("\"\(row.name)\" does not take a list.", path).at(literalPlace)
            }
            throw .predicateInvalid("\"\(row.name)\" does not take null.", path).at(place).at(literalPlace)
        case .keyPath, .function:
            throw .predicateInvalid("The right side of \"\(row.name)\" must be a literal.", path).at(literalPlace)
        }
    }

    func related(
        _ comparison: ComparisonOperator,
        _ literal: ResolvedLiteral
    ) throws(SkyrowError) -> ResolvedPredicate {
        guard let relation = Relation(comparison) else {
            throw .predicateInvalid("Only strings can be compared with \"\(row.name)\".", path)
        }
        return .comparison(column, relation, literal)
    }

    // MARK: Two columns

    /// Compares two columns of the same type, or of numbers. Arrays and JSON are compared as a whole.
    func condition(
        _ comparison: ComparisonOperator,
        beside other: ResolvedColumn
    ) throws(SkyrowError) -> ResolvedPredicate {
        guard let relation = Relation(comparison) else {
            if row.takesList { throw listMissing(comparison) }
            let message =
                row.takesPattern
                ? "The right side of \"\(row.name)\" must be a pattern."
                : "The right side of \"\(row.name)\" must be a literal."
            throw .predicateInvalid(message, path).at(literalPlace)
        }
        switch (column.kind, other.kind) {
        case (.integer, .number), (.number, .integer), (.string, .user), (.user, .string), (.database, .user),
            (.user, .database):
            break
        case (.reference(let a), .reference(let b)) where a == b,
            (.reference(let a), .id(let b)) where a == b,
            (.id(let a), .reference(let b)) where a == b,
            (.id(let a), .id(let b)) where a == b:
            try requireEquality(relation)
        case (.reference(.user), .user), (.user, .reference(.user)), (.id(.user), .user), (.user, .id(.user)):
            try requireEquality(relation)
        case (let a, let b) where a == b && a.valueClass != .opaque && a.valueClass != .relation:
            try requireMeaning()
        default:
            throw .predicateInvalid("The two key paths of a comparison have different types.", path).at(literalPlace)
        }
        return .columns(column, relation, other)
    }

    private func requireEquality(_ relation: Relation) throws(SkyrowError) {
        guard !relation.isOrder else {
            throw .predicateInvalid("References can only be compared with \"eq\", \"neq\", \"in\" and \"nin\".", path)
                .at(0)
        }
    }

    // MARK: Lists

    /// `["in", keypath, [ … ]]`, and the other operators that take a list.
    func condition(
        _ comparison: ComparisonOperator,
        among values: [RecordValue]
    ) throws(SkyrowError) -> ResolvedPredicate {
        try requireMeaning()
        switch comparison {
        case .in: return try membership(values)
        case .nin: return .not(try membership(values))
        default:
            if let relation = row.relation { return try elements(relation, values) }
            throw .predicateInvalid("\"\(row.name)\" does not take a list.", path).at(literalPlace)
        }
    }

    private func membership(_ values: [RecordValue]) throws(SkyrowError) -> ResolvedPredicate {
        // An empty list contains not even a missing value. In a list without comparable values, a missing value is unknown.
        let condition = try membership(ofValues: values)
        guard !values.isEmpty, condition.isEmptyList else { return condition }
        return .constant(column, false)
    }

    private func membership(ofValues values: [RecordValue]) throws(SkyrowError) -> ResolvedPredicate {
        switch column.kind {
        case .string: return .isOneOf(column, .texts(try each(values, comparedText)))
        case .user: return .isOneOf(column, .texts(try each(values, userID)))
        case .database: return .isOneOf(column, .texts(try each(values, databaseName)))
        case .id(let type):
            return .hasID(column, try each(values) { value throws(SkyrowError) in try wireID(value, of: type) })
        case .reference(let type):
            return .hasID(column, try each(values) { value throws(SkyrowError) in try referredID(value, of: type) })
        case .integer: return .isOneOf(column, .integers(try each(values, exactInteger).compactMap { $0 }))
        case .number: return .isOneOf(column, .numbers(try each(values, exactNumber).compactMap { $0 }))
        case .json: return .json(column, .equal, try each(values, jsonText))
        case .array(let element): return try shared(with: values, element)
        case .relation: throw .literalInvalid("references", path).at(literalPlace)
        default:
            guard let list = ResolvedList(try each(values, literal), of: column.kind) else {
                throw .literalInvalid("null", path).at(literalPlace)
            }
            return .isOneOf(column, list)
        }
    }

    /// Reads the values of a list and skips `null`.
    func each<Value>(
        _ values: [RecordValue],
        _ read: (RecordValue) throws(SkyrowError) -> Value
    ) throws(SkyrowError) -> [Value] {
        var result: [Value] = []
        result.reserveCapacity(values.count)
        for (place, value) in values.enumerated() where value != .null {
            do throws(SkyrowError) { result.append(try read(value)) } catch { throw error.at(place).at(literalPlace) }
        }
        return result
    }

    /// Compares an array with a list of elements; `null` is 108, since a `null` element is written as
    /// `{"$type":"json","$val":null}`.
    private func elements(_ relation: ArrayRelation, _ values: [RecordValue]) throws(SkyrowError) -> ResolvedPredicate {
        if let place = values.firstIndex(of: .null) {
            throw .predicateInvalid("\"\(row.name)\" does not take null.", path).at(place).at(literalPlace)
        }
        if case .array(let element) = column.kind { return try array(of: element, relation, values) }
        return .json(column, relation, try each(values, jsonText))
    }

    /// `["in", "text", keypath]`: an array contains this element, a JSON array this string, or an object this key;
    /// `["in", geo, keypath]`: a location is in a geometry.
    func containment(of value: RecordValue) throws(SkyrowError) -> ResolvedPredicate {
        if case .array = column.kind {
            if case .null = value { return .unknown }
            do throws(SkyrowError) { return try withLiteral(.contains, value) } catch { throw error.at(literalPlace) }
        }
        guard column.kind == .json || column.kind == .geometry else {
            throw .predicateInvalid(
                "Only an array, a JSON field, a relation or a geometry can contain the left side of \"in\".",
                path
            ).at(2)
        }
        switch value {
        case .null: return .unknown
        case _ where column.kind == .geometry:
            do throws(SkyrowError) { return try geometry(.contains, value) } catch { throw error.at(literalPlace) }
        case .string(let text):
            guard !text.hasNUL else { throw .literalInvalid("a string without NUL", path).at(literalPlace) }
            return .holdsText(column, text)
        default:
            throw .predicateInvalid("A JSON field can only be searched for strings.", path).at(literalPlace)
        }
    }
}

extension ResolvedPredicate {
    /// Whether it compares with an empty list.
    fileprivate var isEmptyList: Bool {
        switch self {
        case .isOneOf(_, let list): list.count == 0
        case .hasID(_, let ids): ids.isEmpty
        case .json(_, .equal, let texts): texts.isEmpty
        case .or(let parts): parts.isEmpty
        default: false
        }
    }
}
