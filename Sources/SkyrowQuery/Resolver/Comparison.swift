internal import SkyrowModel

/// A comparison of a column with a literal, a list or another column, which is resolved by what the column holds.
struct Comparison {
    let column: ResolvedColumn
    let path: KeyPath
    let row: QueryOperator
    /// The place of the other operand in the comparison's array.
    let literalPlace: Int

    init(_ column: ResolvedColumn, _ path: KeyPath, _ row: QueryOperator, literalAt place: Int) {
        self.column = column
        self.path = path
        self.row = row
        literalPlace = place
    }

    /// A column beside a literal.
    func condition(_ comparison: ComparisonOperator, _ value: RecordValue) throws(SkyrowError) -> ResolvedPredicate {
        guard comparison != .in else {
            throw .predicateInvalid("The right side of \"in\" is a list or the key path of a JSON field.", path)
                .at(literalPlace)
        }
        if case .null = value { return withNull }
        if case .json = value, comparison == .eq || comparison == .neq {
            throw .equalityNotSupported(path).at(literalPlace)
        }
        try requireMeaning()
        do throws(SkyrowError) { return try withLiteral(comparison, value) } catch { throw error.at(literalPlace) }
    }

    private var withNull: ResolvedPredicate {
        switch row.null {
        case .isMissing: .isMissing(column)
        case .isPresent: .isPresent(column)
        case .unknown, .none: .unknown
        }
    }

    /// Throws `108 InvalidArgument` where the operator has no meaning for what the column holds.
    private func requireMeaning() throws(SkyrowError) {
        guard !row.classes.contains(column.kind.valueClass) else { return }
        let message =
            switch column.kind {
            case .json, .access:
                row.operands == .membership
                    ? "A JSON field stands on the right side of \"in\"."
                    : "A JSON field is compared with null or searched with \"in\"."
            case .opaque: "A field of this type is compared with null only."
            case .reference where !row.takesPattern:
                "References are compared with \"eq\", \"neq\" and \"in\" only."
            case .string, .integer, .number, .boolean, .datetime, .bytes, .reference, .id, .user, .database:
                "Only strings are compared with \"\(row.name)\"."
            }
        throw .predicateInvalid(message, path).at(0)
    }

    private func withLiteral(
        _ comparison: ComparisonOperator,
        _ value: RecordValue
    ) throws(SkyrowError) -> ResolvedPredicate {
        switch column.kind {
        case .string: return try text(comparison, string(value))
        case .user: return try text(comparison, userID(value))
        case .database: return try text(comparison, databaseName(value))
        case .id(let type), .reference(let type): return try id(comparison, wireID(value, of: type))
        case .integer: return try integer(comparison, value)
        case .number: return try number(comparison, value)
        case .boolean: return try related(comparison, .boolean(boolean(value)))
        case .datetime: return try related(comparison, .datetime(instant(value)))
        case .bytes: return try related(comparison, .bytes(bytes(value)))
        case .json, .access, .opaque: throw .literalInvalid("null", path)
        }
    }

    private func related(
        _ comparison: ComparisonOperator,
        _ literal: ResolvedLiteral
    ) throws(SkyrowError) -> ResolvedPredicate {
        guard let relation = Relation(comparison) else {
            throw .predicateInvalid("Only strings are compared with \"\(row.name)\".", path)
        }
        return .comparison(column, relation, literal)
    }

    // MARK: Two columns

    /// Two columns; they must be of the same type, or numbers.
    func condition(
        _ comparison: ComparisonOperator,
        beside other: ResolvedColumn
    ) throws(SkyrowError) -> ResolvedPredicate {
        guard let relation = Relation(comparison) else {
            let message =
                comparison == .in
                ? "The right side of \"in\" is a list or the key path of a JSON field."
                : "The right side of \"\(row.name)\" is a pattern."
            throw .predicateInvalid(message, path).at(literalPlace)
        }
        switch (column.kind, other.kind) {
        case (.string, .string), (.user, .user), (.boolean, .boolean), (.datetime, .datetime), (.bytes, .bytes),
            (.integer, .integer), (.number, .number), (.integer, .number), (.number, .integer), (.database, .database),
            (.string, .user), (.user, .string), (.database, .user), (.user, .database):
            break
        case (.reference(let a), .reference(let b)) where a == b,
            (.reference(let a), .id(let b)) where a == b,
            (.id(let a), .reference(let b)) where a == b,
            (.id(let a), .id(let b)) where a == b:
            try requireEquality(relation)
        case (.reference(.user), .user), (.user, .reference(.user)), (.id(.user), .user), (.user, .id(.user)):
            try requireEquality(relation)
        default:
            throw .predicateInvalid("The two key paths of a comparison have different types.", path).at(literalPlace)
        }
        return .columns(column, relation, other)
    }

    private func requireEquality(_ relation: Relation) throws(SkyrowError) {
        guard !relation.isOrder else {
            throw .predicateInvalid("References are compared with \"eq\", \"neq\" and \"in\" only.", path).at(0)
        }
    }

    // MARK: Lists

    /// `["in", keypath, [ … ]]`
    func membership(_ values: [RecordValue]) throws(SkyrowError) -> ResolvedPredicate {
        try requireMeaning()
        switch column.kind {
        case .string: return .isOneOf(column, .texts(try each(values, string)))
        case .user: return .isOneOf(column, .texts(try each(values, userID)))
        case .database: return .isOneOf(column, .texts(try each(values, databaseName)))
        case .id(let type), .reference(let type):
            return .hasID(column, try each(values) { value throws(SkyrowError) in try wireID(value, of: type) })
        case .integer: return .isOneOf(column, .integers(try each(values, exactInteger).compactMap { $0 }))
        case .number: return .isOneOf(column, .numbers(try each(values, exactNumber).compactMap { $0 }))
        case .boolean: return .isOneOf(column, .booleans(try each(values, boolean)))
        case .datetime: return .isOneOf(column, .datetimes(try each(values, instant)))
        case .bytes: return .isOneOf(column, .bytes(try each(values, bytes)))
        case .json, .access, .opaque: throw .literalInvalid("null", path).at(literalPlace)
        }
    }

    /// The values of a list but for `null`, which is passed over.
    private func each<Value>(
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

    /// `["in", "text", keypath]`: a JSON array has this string, or an object this key.
    func containment(of value: RecordValue) throws(SkyrowError) -> ResolvedPredicate {
        guard column.kind == .json else {
            throw .predicateInvalid("Only a JSON field can hold the left side of \"in\".", path).at(2)
        }
        switch value {
        case .null: return .unknown
        case .string(let text):
            guard !text.hasNUL else { throw .literalInvalid("a string without NUL", path).at(literalPlace) }
            return .holdsText(column, text)
        default:
            throw .predicateInvalid("A JSON field is searched for strings only.", path).at(literalPlace)
        }
    }
}
