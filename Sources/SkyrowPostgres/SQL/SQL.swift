/// A statement: text whose form depends on its shape only, and the values that go with it.
///
/// It is written as a string literal. Values become placeholders, never text:
///
/// ```swift
/// let title = "x'; DROP TABLE note; --"
/// let statement: SQL = "SELECT _id FROM \(try SQLIdentifier("note")) WHERE title = \(title)"
/// statement.text        // SELECT _id FROM "note" WHERE title = $1
/// ```
///
/// Another `SQL` is spliced in and its placeholders are numbered on. There is no initialiser from a `String` without a
/// name that review can search for: `raw:`, `literal:`, `trustedText:`.
package struct SQL: Sendable {
    /// The statement with `$1`, `$2`, … where values go.
    package private(set) var text: String

    /// The values of the placeholders, in order.
    package private(set) var bindings: PostgresBindings

    /// Where in `text.utf8` each placeholder begins.
    private var placeholders: [Int]

    /// An empty statement to append to.
    package init() {
        text = ""
        bindings = PostgresBindings()
        placeholders = []
    }

    /// Takes text that this project itself wrote, such as an embedded migration; never text made from input.
    package init(trustedText: String) {
        self.init()
        text = trustedText
        refuseNUL(in: trustedText)
    }

    /// The same statement with other values, for callers that keep the text of a shape.
    ///
    /// ```swift
    /// var values = PostgresBindings()
    /// values.append(id)
    /// let statement = shape.binding(values)
    /// ```
    ///
    /// There must be as many values as placeholders; otherwise the statement fails with `misuse` when it is run.
    package func binding(_ bindings: PostgresBindings) -> SQL {
        var copy = self
        copy.bindings = bindings
        if bindings.count != placeholders.count {
            let message = "\(bindings.count) values for \(placeholders.count) placeholders"
            copy.bindings.fail(PostgresError(code: .misuse, message: message))
        }
        return copy
    }

    package mutating func append(_ other: SQL) {
        let shift = placeholders.count
        if other.placeholders.isEmpty || shift == 0 {
            let base = text.utf8.count
            text += other.text
            placeholders.append(contentsOf: other.placeholders.map { $0 + base })
        } else {
            let source = other.text.utf8
            var position = source.startIndex
            for (number, offset) in other.placeholders.enumerated() {
                let start = source.index(source.startIndex, offsetBy: offset)
                text += other.text[position..<start]
                appendPlaceholder(shift + number + 1)
                position = source.index(start, offsetBy: 1 + String(number + 1).utf8.count)
            }
            text += other.text[position...]
        }
        bindings.append(contentsOf: other.bindings)
    }

    package static func + (left: SQL, right: SQL) -> SQL {
        var result = left
        result.append(right)
        return result
    }

    package static func += (left: inout SQL, right: SQL) {
        left.append(right)
    }

    fileprivate mutating func append(verbatim: String) {
        text += verbatim
    }

    fileprivate mutating func bind(_ value: some PostgresEncodable) {
        bindings.append(value)
        appendPlaceholder(bindings.count)
    }

    /// Appends text between single quotes as PostgreSQL reads it whatever `standard_conforming_strings` says.
    fileprivate mutating func append(quoted literal: String) {
        refuseNUL(in: literal)
        let hasBackslash = literal.utf8.contains(UInt8(ascii: "\\"))
        text += hasBackslash ? " E'" : "'"
        for scalar in literal.unicodeScalars {
            if scalar == "'" || scalar == "\\" { text.unicodeScalars.append(scalar) }
            text.unicodeScalars.append(scalar)
        }
        text += "'"
    }

    private mutating func appendPlaceholder(_ number: Int) {
        placeholders.append(text.utf8.count)
        text += "$"
        text += String(number)
    }

    private mutating func refuseNUL(in text: String) {
        guard text.utf8.contains(0) else { return }
        bindings.fail(PostgresError(code: .invalidValue, message: "SQL text cannot contain a NUL byte"))
    }
}

extension SQL: ExpressibleByStringInterpolation {
    package init(stringLiteral value: StaticString) {
        self.init()
        text = value.description
    }

    package init(stringInterpolation: StringInterpolation) {
        self = stringInterpolation.sql
    }

    /// Collects the pieces of a literal; each kind of piece says how it enters the text.
    package struct StringInterpolation: StringInterpolationProtocol {
        fileprivate var sql = SQL()

        package init(literalCapacity: Int, interpolationCount: Int) {
            sql.text.reserveCapacity(literalCapacity + 3 * interpolationCount)
            sql.placeholders.reserveCapacity(interpolationCount)
        }

        package mutating func appendLiteral(_ literal: StaticString) {
            sql.append(verbatim: literal.description)
        }

        /// `$n`, bound to the value.
        package mutating func appendInterpolation(_ value: some PostgresEncodable) {
            sql.bind(value)
        }

        /// `"name"`
        package mutating func appendInterpolation(_ identifier: SQLIdentifier) {
            sql.append(verbatim: identifier.quoted)
        }

        /// The other statement's text, its placeholders numbered on, and its values.
        package mutating func appendInterpolation(_ other: SQL) {
            sql.append(other)
        }

        /// Text from the source code, as it is.
        package mutating func appendInterpolation(raw text: StaticString) {
            sql.append(verbatim: text.description)
        }

        /// `'text'`, its quotes doubled: for statements that take no placeholders, such as `COMMENT` and `DEFAULT`.
        /// Anywhere else bind the value.
        package mutating func appendInterpolation(literal text: String) {
            sql.append(quoted: text)
        }
    }
}

extension SQL: CustomStringConvertible {
    /// The text alone; bound values never print.
    package var description: String { text }
}

extension Sequence<SQL> {
    /// The statements one after another with `separator` between them.
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
