internal import SkyrowPostgres

/// A statement without its values: the text, and what the value of each placeholder is.
///
/// It is written as a string literal like ``SQL``, with parameters where that has values. Text and parameters come from
/// one walk, so what is bound cannot differ from what the text asks for:
///
/// ```swift
/// let template: StatementTemplate = "DELETE FROM \(table.qualifiedName) WHERE \"_id\" = ANY(\(parameter: .ids))"
/// let statement = template.binding { parameter, values in
///     if case .ids = parameter { values.append(ids) }
/// }
/// ```
///
/// ``SQL`` that is spliced in has no values; one that has some makes the bound statement fail with `misuse`.
struct StatementTemplate: Sendable {
    private var sql = SQL()
    private(set) var parameters: [StatementParameter] = []

    /// A statement with a parameter in the place of each value, from 0 on.
    init(_ sql: SQL, _ parameter: (Int) -> StatementParameter) {
        self.sql = sql.withoutValues
        parameters = (0..<sql.bindings.count).map(parameter)
    }

    /// No text.
    init() {}

    /// The text with `$1`, `$2`, … in the places of the parameters.
    var text: String { sql.text }

    /// The text, whose values another part of the program binds.
    var unbound: SQL { sql }

    /// The statement with its values; `bind` appends the one of a parameter.
    ///
    /// A parameter to which nothing, or more than one value, is appended makes the statement fail with `misuse` instead of
    /// being sent.
    ///
    /// - Parameter bytes: how many the values take; most records have room in as many as it is by default.
    func binding(bytes: Int = 256, _ bind: (StatementParameter, inout PostgresBindings) -> Void) -> SQL {
        var values = PostgresBindings()
        values.reserveCapacity(values: parameters.count, bytes: bytes)
        for (place, parameter) in parameters.enumerated() {
            bind(parameter, &values)
            // Without the rest there are too few values, which the statement reports.
            if values.count != place + 1 { return sql.binding(PostgresBindings()) }
        }
        return sql.binding(values)
    }

    /// The same text with something else in the place of each parameter, from 0 on.
    func replacingParameters(with replacement: (Int) -> SQL) -> SQL {
        sql.replacingValues(with: replacement)
    }

    mutating func append(_ other: StatementTemplate) {
        sql.append(other.sql)
        parameters += other.parameters
    }

    static func += (left: inout StatementTemplate, right: StatementTemplate) {
        left.append(right)
    }
}

extension StatementTemplate: ExpressibleByStringInterpolation {
    init(stringLiteral value: StaticString) {
        sql.append(raw: value)
    }

    init(stringInterpolation: StringInterpolation) {
        self = stringInterpolation.template
    }

    /// Collects the pieces of a literal; each kind of piece says how it enters the text.
    struct StringInterpolation: StringInterpolationProtocol {
        fileprivate var template = StatementTemplate()

        init(literalCapacity: Int, interpolationCount: Int) {
            template.sql.reserveCapacity(literalCapacity + 16 * interpolationCount, placeholders: interpolationCount)
        }

        mutating func appendLiteral(_ literal: StaticString) {
            template.sql.append(raw: literal)
        }

        /// `$n`, whose value is the one of the parameter.
        mutating func appendInterpolation(parameter: StatementParameter) {
            template.sql.appendPlaceholder()
            template.parameters.append(parameter)
        }

        /// `"name"`
        mutating func appendInterpolation(_ identifier: SQLIdentifier) {
            template.sql.append(identifier)
        }

        /// `"app_internal"`
        mutating func appendInterpolation(_ schema: InternalSchema) {
            template.sql.append(schema)
        }

        /// Text without values.
        mutating func appendInterpolation(_ text: SQL) {
            template.sql.append(text)
        }

        /// The other template's text, its placeholders numbered on, and its parameters.
        mutating func appendInterpolation(_ other: StatementTemplate) {
            template.append(other)
        }
    }
}

extension Sequence<StatementTemplate> {
    /// The templates one after another with `separator` between them.
    func joined(separator: StatementTemplate) -> StatementTemplate {
        var result = StatementTemplate()
        for (index, template) in enumerated() {
            if index > 0 { result.append(separator) }
            result.append(template)
        }
        return result
    }
}
