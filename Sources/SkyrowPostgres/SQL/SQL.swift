/// A statement: text that depends only on its shape, and the values that belong to it.
///
/// It is written as a string literal. Values become placeholders, never text:
///
/// ```swift
/// let title = "x'; DROP TABLE note; --"
/// let statement: SQL = "SELECT _id FROM \(try SQLIdentifier("note")) WHERE title = \(title)"
/// statement.text        // SELECT _id FROM "note" WHERE title = $1
/// ```
///
/// An interpolated `SQL` is inserted and its placeholders are renumbered. Every initializer and interpolation that takes text has
/// a label that a review can search for: `raw:`, `literal:`, `trustedText:`.
package struct SQL: Sendable {
    /// The text as UTF-8, which is faster to build than a `String`.
    private(set) var utf8: [UInt8]

    /// The statement with `$1`, `$2`, … where values go.
    package var text: String { String(decoding: utf8, as: UTF8.self) }

    /// Whether both are the same statement except for the values.
    func hasSameText(as other: SQL) -> Bool {
        utf8.withUnsafeBytes { left in
            other.utf8.withUnsafeBytes { right in
                left.count == right.count && (left.baseAddress == right.baseAddress || left.elementsEqual(right))
            }
        }
    }

    /// The values of the placeholders, in order.
    package private(set) var bindings: PostgresBindings

    /// The offset in `utf8` of each placeholder.
    private var placeholders: [Int]

    /// An empty statement to append to.
    package init() {
        utf8 = []
        bindings = PostgresBindings()
        placeholders = []
    }

    /// Creates a statement from text of this project, such as an embedded migration; never from text made of input.
    package init(trustedText: String) {
        self.init()
        utf8 = Array(trustedText.utf8)
        refuseNUL(in: trustedText)
    }

    /// Returns the same statement with other values, for callers that keep the text of a shape.
    ///
    /// ```swift
    /// var values = PostgresBindings()
    /// values.append(id)
    /// let statement = shape.binding(values)
    /// ```
    ///
    /// The number of values must match the placeholders; otherwise the statement fails with `misuse` when it is run.
    package func binding(_ bindings: PostgresBindings) -> SQL {
        var copy = self
        copy.bindings = bindings
        if bindings.count != placeholders.count {
            let message = "\(bindings.count) values for \(placeholders.count) placeholders"
            copy.bindings.fail(PostgresError(code: .misuse, message: message))
        }
        return copy
    }

    /// The text only, to which values are bound later.
    package var withoutValues: SQL {
        var copy = self
        copy.bindings = PostgresBindings()
        return copy
    }

    /// Returns the same text with a replacement for each value, numbered from 0.
    ///
    /// ```swift
    /// let condition: SQL = "r._owner = \(user)"
    /// condition.replacingValues { _ in "q.user" }      // r._owner = q.user
    /// ```
    package func replacingValues(with replacement: (Int) -> SQL) -> SQL {
        var result = SQL()
        var position = 0
        for (number, offset) in placeholders.enumerated() {
            result.utf8.append(contentsOf: utf8[position..<offset])
            result.append(replacement(number))
            position = offset + 1 + SQL.digitCount(number + 1)
        }
        result.utf8.append(contentsOf: utf8[position...])
        return result
    }

    package mutating func append(_ other: SQL) {
        let shift = placeholders.count
        if other.placeholders.isEmpty || shift == 0 {
            let base = utf8.count
            utf8.append(contentsOf: other.utf8)
            for offset in other.placeholders { placeholders.append(offset + base) }
        } else {
            var position = 0
            for (number, offset) in other.placeholders.enumerated() {
                utf8.append(contentsOf: other.utf8[position..<offset])
                appendPlaceholder(shift + number + 1)
                position = offset + 1 + SQL.digitCount(number + 1)
            }
            utf8.append(contentsOf: other.utf8[position...])
        }
        if !other.bindings.isEmpty { bindings.append(contentsOf: other.bindings) }
    }

    package static func + (left: SQL, right: SQL) -> SQL {
        var result = left
        result.append(right)
        return result
    }

    package static func += (left: inout SQL, right: SQL) {
        left.append(right)
    }

    /// Appends text from the source code.
    package mutating func append(raw text: StaticString) {
        text.withUTF8Buffer { utf8.append(contentsOf: $0) }
    }

    /// Writes a number into the text, so that each number results in a different statement; bind numbers otherwise.
    package mutating func append(literal number: Int64) {
        utf8 += String(number).utf8
    }

    package mutating func append(_ identifier: SQLIdentifier) {
        utf8.append(contentsOf: identifier.quoted.utf8)
    }

    /// Appends a name with a suffix, `"app_internal"`.
    mutating func append(_ identifier: SQLIdentifier, suffix: StaticString) {
        utf8.append(contentsOf: identifier.quoted.utf8.dropLast())
        append(raw: suffix)
        utf8.append(UInt8(ascii: "\""))
    }

    /// Appends a placeholder whose value is bound later, with ``binding(_:)``.
    package mutating func appendPlaceholder() {
        appendPlaceholder(placeholders.count + 1)
    }

    package mutating func reserveCapacity(_ bytes: Int, placeholders: Int) {
        utf8.reserveCapacity(bytes)
        self.placeholders.reserveCapacity(placeholders)
    }

    /// Appends `$n`, bound to the value.
    package mutating func bind(_ value: some PostgresEncodable) {
        bindings.append(value)
        appendPlaceholder(bindings.count)
    }

    /// Appends text between single quotes in a form that is safe for any value of `standard_conforming_strings`.
    fileprivate mutating func append(quoted literal: String) {
        refuseNUL(in: literal)
        let hasBackslash = literal.utf8.contains(UInt8(ascii: "\\"))
        append(raw: hasBackslash ? " E'" : "'")
        for byte in literal.utf8 {
            if byte == UInt8(ascii: "'") || byte == UInt8(ascii: "\\") { utf8.append(byte) }
            utf8.append(byte)
        }
        append(raw: "'")
    }

    private mutating func appendPlaceholder(_ number: Int) {
        placeholders.append(utf8.count)
        utf8.append(UInt8(ascii: "$"))
        var divisor = 1
        while number / divisor >= 10 { divisor *= 10 }
        while divisor > 0 {
            utf8.append(UInt8(ascii: "0") + UInt8(number / divisor % 10))
            divisor /= 10
        }
    }

    private static func digitCount(_ number: Int) -> Int {
        var count = 1
        var rest = number
        while rest >= 10 {
            rest /= 10
            count += 1
        }
        return count
    }

    private mutating func refuseNUL(in text: String) {
        guard text.utf8.contains(0) else { return }
        bindings.fail(PostgresError(code: .invalidValue, message: "SQL text cannot contain a NUL byte"))
    }
}

extension SQL: ExpressibleByStringInterpolation {
    package init(stringLiteral value: StaticString) {
        self.init()
        append(raw: value)
    }

    package init(stringInterpolation: StringInterpolation) {
        self = stringInterpolation.sql
    }

    /// Collects the segments of a literal; each overload defines how its segment enters the text.
    package struct StringInterpolation: StringInterpolationProtocol {
        fileprivate var sql = SQL()

        package init(literalCapacity: Int, interpolationCount: Int) {
            sql.utf8.reserveCapacity(literalCapacity + 16 * interpolationCount)
        }

        package mutating func appendLiteral(_ literal: StaticString) {
            sql.append(raw: literal)
        }

        /// `$n`, bound to the value.
        package mutating func appendInterpolation(_ value: some PostgresEncodable) {
            sql.bind(value)
        }

        /// `"name"`
        package mutating func appendInterpolation(_ identifier: SQLIdentifier) {
            sql.append(identifier)
        }

        /// `"app_internal"`
        package mutating func appendInterpolation(_ schema: InternalSchema) {
            sql.append(schema)
        }

        /// The text of another statement with renumbered placeholders, and its values.
        package mutating func appendInterpolation(_ other: SQL) {
            sql.append(other)
        }

        /// Text from the source code, unchanged.
        package mutating func appendInterpolation(raw text: StaticString) {
            sql.append(raw: text)
        }

        /// `'text'` with doubled quotes: for statements that take no placeholders, such as `COMMENT` and `DEFAULT`. Anywhere else
        /// bind the value.
        package mutating func appendInterpolation(literal text: String) {
            sql.append(quoted: text)
        }
    }
}

extension SQL: CustomStringConvertible {
    /// The text only; bound values are never printed.
    package var description: String { text }
}

extension Sequence<SQL> {
    /// Returns the statements concatenated, with `separator` between them.
    ///
    /// ```swift
    /// let columns = names.map { "\($0)" as SQL }.joined(separator: ", ")
    /// ```
    package func joined(separator: SQL) -> SQL {
        var result = SQL()
        for (index, statement) in enumerated() {
            if index > 0 { result.append(separator) }
            result.append(statement)
        }
        return result
    }
}
