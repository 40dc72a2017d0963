import SkyrowModel

/// A header field with parameters, such as `form-data; name="file"; filename="cat.png"`.
struct ParameterizedField {
    /// What precedes the parameters, in lowercase.
    let value: String
    private var parameters: [String: String] = [:]

    private static let semicolon = UInt8(ascii: ";")
    private static let quote = UInt8(ascii: "\"")
    private static let backslash = UInt8(ascii: "\\")

    /// Parses a field; nil if it is malformed, and if it has a parameter twice, since either could be meant.
    ///
    /// A value without quotes extends to the next semicolon, since clients omit quotes that RFC 9110 requires: around boundaries
    /// with `=`, and around names with spaces.
    init?(_ text: String) {
        var rest = Substring(text).utf8
        value = Self.takeText(until: Self.semicolon, from: &rest).lowercased()
        while rest.popFirst() != nil {
            // A semicolon may end the field.
            if Substring(rest).trimmingSpaces.isEmpty { return }
            let name = Self.takeText(until: UInt8(ascii: "="), from: &rest).lowercased()
            guard rest.popFirst() != nil, Self.isName(name), let value = Self.takeValue(from: &rest),
                parameters.updateValue(value, forKey: name) == nil
            else { return nil }
        }
    }

    /// - Parameter name: in lowercase.
    subscript(_ name: String) -> String? { parameters[name] }

    private static func isName(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.allSatisfy { (0x21...0x7E).contains($0) && $0 != semicolon && $0 != quote }
    }

    /// Takes what precedes a byte or the end, without the spaces around it.
    private static func takeText(until byte: UInt8, from rest: inout Substring.UTF8View) -> Substring {
        let end = rest.firstIndex(of: byte) ?? rest.endIndex
        defer { rest = rest[end...] }
        return Substring(rest[..<end]).trimmingSpaces
    }

    /// Takes a value up to a semicolon or the end; nil if neither follows it.
    private static func takeValue(from rest: inout Substring.UTF8View) -> String? {
        rest = Substring(rest).trimmingSpaces.utf8
        guard rest.first == quote else {
            let value = takeText(until: semicolon, from: &rest)
            return value.isEmpty || value.utf8.contains(quote) ? nil : String(value)
        }
        rest.removeFirst()
        var value: [UInt8] = []
        while let byte = rest.popFirst() {
            if byte == quote {
                rest = Substring(rest).trimmingSpaces.utf8
                return rest.isEmpty || rest.first == semicolon ? String(decoding: value, as: UTF8.self) : nil
            }
            // Browsers do not escape a backslash, which paths of Windows contain.
            let isEscape = byte == backslash && (rest.first == quote || rest.first == backslash)
            value.append(isEscape ? rest.removeFirst() : byte)
        }
        return nil
    }
}
