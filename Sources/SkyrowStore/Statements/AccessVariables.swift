package import SkyrowModel

/// Who a caller is, as the JSON object that the access condition of a statement compares record lists with.
///
/// `{"u": ["<user id>"], "r": ["<role>", …]}`. It is made once per caller and kept (``AccessVariablesCache``), and
/// PostgreSQL parses it only when a statement meets a record whose list does not admit everyone anyway.
package struct AccessVariables: Hashable, Sendable {
    package let json: String

    package init(_ audience: AccessAudience) {
        var json = "{\"u\": ["
        json.appendJSON(strings: audience.user.map { [$0] } ?? [])
        json += "], \"r\": ["
        json.appendJSON(strings: audience.roles)
        json += "]}"
        self.json = json
    }
}

extension String {
    /// Appends texts as the elements of a JSON array. Texts with NUL are left out: PostgreSQL holds none that equal them.
    fileprivate mutating func appendJSON(strings: [String]) {
        var isFirst = true
        for string in strings where !string.utf8.contains(0) {
            if !isFirst { append(", ") }
            isFirst = false
            appendJSON(string: string)
        }
    }

    /// Appends text as a JSON string (RFC 8259, section 7).
    mutating func appendJSON(string: String) {
        append("\"")
        if string.utf8.contains(where: { $0 < 0x20 || $0 == UInt8(ascii: "\"") || $0 == UInt8(ascii: "\\") }) {
            for scalar in string.unicodeScalars {
                switch scalar {
                case "\"": append("\\\"")
                case "\\": append("\\\\")
                case "\u{0}"..."\u{1F}":
                    let hexadecimal = String(scalar.value, radix: 16)
                    append("\\u" + String(repeating: "0", count: 4 - hexadecimal.count) + hexadecimal)
                default: unicodeScalars.append(scalar)
                }
            }
        } else {
            append(string)
        }
        append("\"")
    }
}
