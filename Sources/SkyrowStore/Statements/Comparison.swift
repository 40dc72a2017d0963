internal import SkyrowModel
internal import SkyrowPostgres

/// The SQL of single comparisons.
enum Comparison {
    /// A column beside a literal.
    static func condition(
        _ column: QueryColumn,
        _ comparison: ComparisonOperator,
        _ value: RecordValue
    ) throws(SkyrowError) -> SQL {
        if case .null = value { return withNull(column, comparison) }
        if case .json = value, comparison == .eq || comparison == .neq { throw .equalityNotSupported(column.path) }
        switch column.kind {
        case .string: return try text(column.sql, comparison, string(value, column), column)
        case .user: return try text(column.sql, comparison, userID(value, column), column)
        case .database: return try text(column.sql, comparison, databaseName(value, column), column)
        case .id(let type): return try id(column, comparison, wireID(value, of: type, column))
        case .reference(let type): return try reference(column, comparison, wireID(value, of: type, column))
        case .integer: return try integer(column, comparison, value)
        case .number: return try number(column, comparison, value)
        case .boolean:
            guard case .boolean(let flag) = value else { throw mismatch("a boolean", column) }
            return "\(column.sql) \(try sign(comparison, column)) \(flag)"
        case .datetime:
            guard case .datetime(let instant) = value else { throw mismatch("a date", column) }
            let bound = PostgresTimestamp(microsecondsSince2000: instant.microseconds)
            return "\(column.sql) \(try sign(comparison, column)) \(bound)"
        case .bytes:
            guard case .bytes(let bytes) = value else { throw mismatch("bytes", column) }
            return "\(column.sql) \(try sign(comparison, column)) \(bytes)"
        case .json, .access:
            throw .predicateInvalid("A JSON field is compared with null or searched with \"in\".", column.path)
        case .unknown:
            throw .predicateInvalid("A field of an unknown type is compared with null only.", column.path)
        }
    }

    /// Two columns; they must be of the same type, or numbers.
    static func condition(
        _ left: QueryColumn,
        _ comparison: ComparisonOperator,
        _ right: QueryColumn
    ) throws(SkyrowError) -> SQL {
        let sign = try sign(comparison, left)
        switch (left.kind, right.kind) {
        case (.string, .string), (.user, .user), (.boolean, .boolean), (.datetime, .datetime), (.bytes, .bytes),
            (.integer, .integer), (.number, .number), (.integer, .number), (.number, .integer), (.database, .database):
            return "\(left.sql) \(sign) \(right.sql)"
        case (.string, .user), (.user, .string), (.database, .user), (.user, .database):
            return "\(left.sql) \(sign) \(right.sql)"
        case (.reference(let a), .reference(let b)) where a == b,
            (.reference(let a), .id(let b)) where a == b,
            (.id(let a), .reference(let b)) where a == b,
            (.id(let a), .id(let b)) where a == b:
            try requireEquality(comparison, left)
            return "\(left.sql) \(sign) \(right.sql)"
        case (.reference(.user), .user), (.user, .reference(.user)), (.id(.user), .user), (.user, .id(.user)):
            try requireEquality(comparison, left)
            return "\(left.sql) \(sign) \(right.sql)"
        default:
            throw .predicateInvalid("The two key paths of a comparison have different types.", left.path)
        }
    }

    /// `["in", keypath, [ … ]]`
    static func membership(_ column: QueryColumn, _ values: [RecordValue]) throws(SkyrowError) -> SQL {
        let values = values.filter { $0 != .null }
        switch column.kind {
        case .string: return "\(column.sql) = ANY(\(try values.map { v throws(SkyrowError) in try string(v, column) }))"
        case .user: return "\(column.sql) = ANY(\(try values.map { v throws(SkyrowError) in try userID(v, column) }))"
        case .database:
            return "\(column.sql) = ANY(\(try values.map { v throws(SkyrowError) in try databaseName(v, column) }))"
        case .id(let type), .reference(let type):
            return equalsAny(column, try values.map { v throws(SkyrowError) in try wireID(v, of: type, column) })
        case .integer:
            var integers: [Int64] = []
            for value in values { if let exact = try exactInteger(value, column) { integers.append(exact) } }
            return "\(column.sql) = ANY(\(integers))"
        case .number:
            var numbers: [Double] = []
            for value in values { if let exact = try exactNumber(value, column) { numbers.append(exact) } }
            return "\(column.sql) = ANY(\(numbers))"
        case .boolean:
            let flags = try values.map { value throws(SkyrowError) in
                guard case .boolean(let flag) = value else { throw mismatch("a boolean", column) }
                return flag
            }
            return "\(column.sql) = ANY(\(flags))"
        case .datetime:
            let instants = try values.map { value throws(SkyrowError) in
                guard case .datetime(let instant) = value else { throw mismatch("a date", column) }
                return PostgresTimestamp(microsecondsSince2000: instant.microseconds)
            }
            return "\(column.sql) = ANY(\(instants))"
        case .bytes:
            let strings = try values.map { value throws(SkyrowError) in
                guard case .bytes(let bytes) = value else { throw mismatch("bytes", column) }
                return bytes
            }
            return "\(column.sql) = ANY(\(strings))"
        case .json, .access:
            throw .predicateInvalid("A JSON field stands on the right side of \"in\".", column.path)
        case .unknown:
            throw .predicateInvalid("A field of an unknown type is compared with null only.", column.path)
        }
    }

    /// `["in", "text", keypath]`: a JSON array has this string, or an object this key.
    static func containment(of value: RecordValue, in column: QueryColumn) throws(SkyrowError) -> SQL {
        guard column.kind == .json else {
            throw .predicateInvalid("Only a JSON field can hold the left side of \"in\".", column.path)
        }
        switch value {
        case .null: return "NULL::boolean"
        case .string(let text): return "\(column.sql) ? \(text)"
        case .integer, .number, .boolean, .datetime, .json, .reference, .sequence, .bytes:
            throw .predicateInvalid("A JSON field is searched for strings only.", column.path)
        }
    }

    private static func withNull(_ column: QueryColumn, _ comparison: ComparisonOperator) -> SQL {
        switch comparison {
        case .eq: "\(column.sql) IS NULL"
        case .neq: "\(column.sql) IS NOT NULL"
        case .gt, .gte, .lt, .lte, .like, .ilike, .in: "NULL::boolean"
        }
    }
}

// MARK: Text and ids

extension Comparison {
    private static func text(
        _ column: SQL,
        _ comparison: ComparisonOperator,
        _ text: String,
        _ about: QueryColumn
    ) throws(SkyrowError) -> SQL {
        switch comparison {
        case .eq, .neq, .gt, .gte, .lt, .lte:
            return "\(column) \(try sign(comparison, about)) \(text)"
        case .like:
            try requirePattern(text, about)
            return "\(column) LIKE \(text)"
        case .ilike:
            try requirePattern(text, about)
            return "\(column) ILIKE \(text)"
        case .in:
            throw .predicateInvalid("The right side of \"in\" is a list.", about.path)
        }
    }

    /// The record's own id, compared in the form that clients see.
    private static func id(
        _ column: QueryColumn,
        _ comparison: ComparisonOperator,
        _ wireID: String
    ) throws(SkyrowError) -> SQL {
        switch comparison {
        case .eq: return equalsAny(column, [wireID])
        case .neq: return "NOT (\(equalsAny(column, [wireID])))"
        case .gt, .gte, .lt, .lte, .like, .ilike, .in:
            switch column.ids {
            case .plain:
                return try text(column.sql, comparison, wireID, column)
            case .prefixed, .either, .any:
                return try text("(\(StoredID.wireIDExpression(column.sql)))", comparison, wireID, column)
            }
        }
    }

    private static func reference(
        _ column: QueryColumn,
        _ comparison: ComparisonOperator,
        _ wireID: String
    ) throws(SkyrowError) -> SQL {
        try requireEquality(comparison, column)
        return comparison == .eq ? equalsAny(column, [wireID]) : "NOT (\(equalsAny(column, [wireID])))"
    }

    /// Equality with one of some ids that clients see; in a form that an index serves, but for `_union`.
    private static func equalsAny(_ column: QueryColumn, _ wireIDs: [String]) -> SQL {
        switch column.ids {
        case .plain:
            if wireIDs.count == 1 { return "\(column.sql) = \(wireIDs[0])" }
            return "\(column.sql) = ANY(\(wireIDs))"
        case .prefixed(let prefix):
            if wireIDs.count == 1 { return "\(column.sql) = \(prefix + wireIDs[0])" }
            return "\(column.sql) = ANY(\(wireIDs.map { prefix + $0 }))"
        case .either(let prefix):
            return "\(column.sql) = ANY(\(wireIDs + wireIDs.map { prefix + $0 }))"
        case .any:
            return "(\(StoredID.wireIDExpression(column.sql))) = ANY(\(wireIDs))"
        }
    }

    private static func string(_ value: RecordValue, _ column: QueryColumn) throws(SkyrowError) -> String {
        guard case .string(let text) = value else { throw mismatch("a string", column) }
        guard !text.utf8.contains(0) else { throw mismatch("a string without NUL", column) }
        return text
    }

    private static func userID(_ value: RecordValue, _ column: QueryColumn) throws(SkyrowError) -> String {
        if case .reference(let id) = value, id.type == .user { return id.id }
        guard case .string = value else { throw mismatch("a user id", column) }
        return try string(value, column)
    }

    /// The public database has no name in Skygear.
    private static func databaseName(_ value: RecordValue, _ column: QueryColumn) throws(SkyrowError) -> String {
        let name = try string(value, column)
        return name.isEmpty ? "_public" : name
    }

    private static func wireID(
        _ value: RecordValue,
        of type: RecordTypeName,
        _ column: QueryColumn
    ) throws(SkyrowError) -> String {
        switch value {
        case .reference(let id) where id.type == type: return id.id
        case .string: return try string(value, column)
        case .null, .integer, .number, .boolean, .datetime, .json, .reference, .sequence, .bytes:
            throw mismatch("a reference to \"\(type)\" or an id", column)
        }
    }

    private static func requirePattern(_ pattern: String, _ column: QueryColumn) throws(SkyrowError) {
        let escapes = pattern.utf8.reversed().prefix { $0 == UInt8(ascii: "\\") }.count
        guard escapes.isMultiple(of: 2) else {
            throw .predicateInvalid("A pattern must not end in its escape character.", column.path)
        }
    }
}

// MARK: Numbers

extension Comparison {
    private static func integer(
        _ column: QueryColumn,
        _ comparison: ComparisonOperator,
        _ value: RecordValue
    ) throws(SkyrowError) -> SQL {
        if case .integer(let literal) = value {
            return "\(column.sql) \(try sign(comparison, column)) \(literal)"
        }
        guard case .number(let literal) = value else { throw mismatch("a number", column) }
        _ = try sign(comparison, column)
        guard let exact = NumberComparison<Int64>(comparison, literal) else { throw mismatch("a number", column) }
        switch exact {
        case .compare(let comparison, let bound): return "\(column.sql) \(try sign(comparison, column)) \(bound)"
        case .always: return always(column)
        case .never: return never(column)
        }
    }

    private static func number(
        _ column: QueryColumn,
        _ comparison: ComparisonOperator,
        _ value: RecordValue
    ) throws(SkyrowError) -> SQL {
        if case .number(let literal) = value {
            return "\(column.sql) \(try sign(comparison, column)) \(literal)"
        }
        guard case .integer(let literal) = value else { throw mismatch("a number", column) }
        _ = try sign(comparison, column)
        guard let exact = NumberComparison<Double>(comparison, literal) else { throw mismatch("a number", column) }
        switch exact {
        case .compare(let comparison, let bound): return "\(column.sql) \(try sign(comparison, column)) \(bound)"
        case .always: return always(column)
        case .never: return never(column)
        }
    }

    /// The integer that equals a literal; nil when none does.
    private static func exactInteger(_ value: RecordValue, _ column: QueryColumn) throws(SkyrowError) -> Int64? {
        switch value {
        case .integer(let literal): return literal
        case .number(let literal): return Int64(exactly: literal)
        case .null, .string, .boolean, .datetime, .json, .reference, .sequence, .bytes:
            throw mismatch("a number", column)
        }
    }

    private static func exactNumber(_ value: RecordValue, _ column: QueryColumn) throws(SkyrowError) -> Double? {
        switch value {
        case .number(let literal): return literal
        case .integer(let literal): return Int64(exactly: Double(literal)) == literal ? Double(literal) : nil
        case .null, .string, .boolean, .datetime, .json, .reference, .sequence, .bytes:
            throw mismatch("a number", column)
        }
    }

    /// True for every value and NULL for NULL, so that `not` of it matches nothing either.
    private static func always(_ column: QueryColumn) -> SQL { "\(column.sql) = \(column.sql)" }

    /// False for every value and NULL for NULL.
    private static func never(_ column: QueryColumn) -> SQL { "\(column.sql) <> \(column.sql)" }
}

// MARK: Operators

extension Comparison {
    private static func sign(_ comparison: ComparisonOperator, _ column: QueryColumn) throws(SkyrowError) -> SQL {
        switch comparison {
        case .eq: return "="
        case .neq: return "<>"
        case .gt: return ">"
        case .gte: return ">="
        case .lt: return "<"
        case .lte: return "<="
        case .like, .ilike:
            throw .predicateInvalid("Only strings are compared with \"\(comparison.rawValue)\".", column.path)
        case .in:
            throw .predicateInvalid("The right side of \"in\" is a list or the key path of a JSON field.", column.path)
        }
    }

    private static func requireEquality(_ comparison: ComparisonOperator, _ column: QueryColumn) throws(SkyrowError) {
        guard comparison == .eq || comparison == .neq else {
            throw .predicateInvalid("References are compared with \"eq\", \"neq\" and \"in\" only.", column.path)
        }
    }

    private static func mismatch(_ expected: String, _ column: QueryColumn) -> SkyrowError {
        .predicateInvalid("This field is compared with \(expected).", column.path)
    }
}
