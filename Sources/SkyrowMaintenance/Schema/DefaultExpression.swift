package import SkyrowModel
import SkyrowStore

extension RecordValue {
    /// The text between the quotes of a column's default; nil if the value cannot be a default.
    var defaultText: String? { fieldType?.column.defaultText(self) }

    /// Parses the default of a column of this type as PostgreSQL prints it, such as `'0'::bigint`. Returns nil for
    /// defaults that a schema file cannot express, such as `now()`.
    package init?(defaultExpression expression: String, type: FieldType) {
        guard let text = constant(in: expression) else { return nil }
        guard let value = type.column.value(ofDefault: text), DocumentedField.canDefault(type, to: value) else {
            return nil
        }
        self = value
    }
}

/// Returns the constant of an expression without quotes, parentheses and cast: `('-1'::integer)::bigint` is `-1`.
private func constant(in expression: String) -> String? {
    var text = expression[...]
    while text.hasPrefix("("), let close = text.lastIndex(of: ")") {
        guard isCastOrNothing(text[text.index(after: close)...]) else { return nil }
        text = text[text.index(after: text.startIndex)..<close]
    }
    let isEscaped = text.hasPrefix("E'")
    if isEscaped { text = text.dropFirst() }
    guard text.hasPrefix("'") else {
        let number = text.prefix { !":".contains($0) }
        let isBare = number == "true" || number == "false" || Double(number) != nil
        return isBare && isCastOrNothing(text[number.endIndex...]) ? String(number) : nil
    }
    var content = ""
    var rest = text.dropFirst()
    while let character = rest.popFirst() {
        if character == "'" {
            guard rest.first == "'" else { return isCastOrNothing(rest) ? content : nil }
            rest.removeFirst()
        } else if isEscaped, character == "\\" {
            // The only escape that PostgreSQL prints is a doubled backslash.
            guard rest.popFirst() == "\\" else { return nil }
        }
        content.append(character)
    }
    return nil
}

/// Returns whether the text is `::type name` or empty.
private func isCastOrNothing(_ text: Substring) -> Bool {
    guard !text.isEmpty else { return true }
    return text.hasPrefix("::")
        && text.dropFirst(2).allSatisfy { $0.isLetter || $0.isNumber || $0 == " " || $0 == "_" || $0 == "\"" }
}
