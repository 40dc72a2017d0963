internal import SkyrowJSON
internal import SkyrowModel

// Comparisons with a JSON field and with a value inside it.

extension Comparison {
    /// Compares a JSON column with a literal. Errors are relative to the literal; the caller adds its path.
    func json(_ comparison: ComparisonOperator, _ value: RecordValue) throws(SkyrowError) -> ResolvedPredicate {
        switch comparison {
        case .eq: return .json(column, .equal, [try jsonText(value)])
        case .neq: return .not(.json(column, .equal, [try jsonText(value)]))
        case .contains: return .json(column, .holdsAll, [try jsonText(value)])
        default: return try typed(by: value).withLiteral(comparison, value)
        }
    }

    /// Reads the value inside JSON as the literal's type; values of other types count as missing.
    private func typed(by value: RecordValue) throws(SkyrowError) -> Comparison {
        guard case .inside(let steps) = column.reading else { throw .literalInvalid("null", path) }
        switch value {
        case .integer, .number: return reading(.number, at: steps)
        case .string: return reading(.string, at: steps)
        case .boolean: return reading(.boolean, at: steps)
        case .datetime: return reading(.datetime, at: steps)
        default: throw .literalInvalid("a string, a number, a boolean or a date", path)
        }
    }

    private func reading(_ type: JSONValueType, at steps: [String]) -> Comparison {
        Comparison(column.reading(type, at: steps), path, row, literalAt: literalPlace)
    }

    /// Returns a literal as JSON; throws 108 for a value without a JSON form.
    func jsonText(_ value: RecordValue) throws(SkyrowError) -> JSONText {
        if case .json(let text) = value { return text }
        let writer = JSONWriter(capacity: 64)
        try write(value, to: writer)
        return writer.jsonText
    }

    private func write(_ value: RecordValue, to writer: JSONWriter) throws(SkyrowError) {
        switch value {
        case .json(let text): text.utf8.withUnsafeBytes { writer.json(validated: $0) }
        case .array(let elements):
            writer.beginArray()
            for element in elements { try write(element, to: writer) }
            writer.endArray()
        case .string(let text):
            guard !text.hasNUL else { throw .literalInvalid("a string without NUL", path) }
            writer.string(text)
        case .integer(let integer): writer.integer(integer)
        case .number(let number) where number.isFinite: writer.number(number)
        case .boolean(let flag): writer.boolean(flag)
        case .reference(let id):
            writer.beginObject()
            writer.member("$type", "ref")
            writer.member("$id", id.description)
            writer.endObject()
        default:
            throw .literalInvalid("a JSON value", path)
        }
    }
}

extension ResolvedColumn {
    /// Returns the column with the value at a JSON path read as a type.
    func reading(_ type: JSONValueType, at steps: [String]) -> ResolvedColumn {
        var column = self
        column.reading = .typed(steps, type)
        switch type {
        case .string:
            column.kind = .string
            // Differs from any column's collation, so that the SQL requests the byte order of the indexes explicitly.
            column.collation = .other
        case .number: column.kind = .decimal
        case .boolean: column.kind = .boolean
        case .datetime: column.kind = .datetime
        }
        return column
    }
}
