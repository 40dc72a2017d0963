internal import SkyrowPostgres

/// A statement without its values: the text, and the parameter of each placeholder.
///
/// It is written as a string literal like ``SQL``, with parameters in place of values. Text and parameters are built
/// together, so that the bound values always match the text:
///
/// ```swift
/// let template: StatementTemplate = "DELETE FROM \(table.qualifiedName) WHERE \"_id\" = ANY(\(parameter: .ids))"
/// let statement = template.binding { parameter, values in
///     if case .ids = parameter { values.append(ids) }
/// }
/// ```
///
/// Interpolated ``SQL`` must not have values, or the bound statement fails with `misuse`.
struct StatementTemplate: Sendable {
    private var sql = SQL()
    private(set) var parameters: [StatementParameter] = []

    /// Creates a template from a statement, whose value at each position becomes `parameter` of that position.
    init(_ sql: SQL, _ parameter: (Int) -> StatementParameter) {
        self.sql = sql.withoutValues
        parameters = (0..<sql.bindings.count).map(parameter)
    }

    /// Creates an empty template.
    init() {}

    /// The text with `$1`, `$2`, … in place of parameters.
    var text: String { sql.text }

    /// The text without values, for code that binds them itself.
    var unbound: SQL { sql }

    /// Returns the statement with its values; `bind` appends the value of a parameter.
    ///
    /// If `bind` does not append exactly one value for a parameter, the statement fails with `misuse` instead of being sent.
    ///
    /// - Parameter bytes: the expected size of the values; the default suffices for most records.
    func binding(bytes: Int = 256, _ bind: (StatementParameter, inout PostgresBindings) -> Void) -> SQL {
        var values = PostgresBindings()
        values.reserveCapacity(values: parameters.count, bytes: bytes)
        for (place, parameter) in parameters.enumerated() {
            bind(parameter, &values)
            // Without the other values there are too few, which the statement reports.
            if values.count != place + 1 { return sql.binding(PostgresBindings()) }
        }
        return sql.binding(values)
    }

    /// Returns the text with each parameter replaced; `replacement` takes its position.
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

    /// Collects the segments of a literal; each kind of segment has an overload.
    struct StringInterpolation: StringInterpolationProtocol {
        fileprivate var template = StatementTemplate()

        init(literalCapacity: Int, interpolationCount: Int) {
            template.sql.reserveCapacity(literalCapacity + 16 * interpolationCount, placeholders: interpolationCount)
        }

        mutating func appendLiteral(_ literal: StaticString) {
            template.sql.append(raw: literal)
        }

        /// `$n` with the value of the parameter.
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

        /// The text of the other template with its placeholders renumbered, and its parameters.
        mutating func appendInterpolation(_ other: StatementTemplate) {
            template.append(other)
        }
    }
}

extension Sequence<StatementTemplate> {
    /// Joins the templates with `separator` between them.
    func joined(separator: StatementTemplate) -> StatementTemplate {
        var result = StatementTemplate()
        for (index, template) in enumerated() {
            if index > 0 { result.append(separator) }
            result.append(template)
        }
        return result
    }
}
