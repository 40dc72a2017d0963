import SkyrowJSON

/// The fields of a form or of a query, as browsers write them: `code=ab%2Dc&form=1+2`.
struct FormFields: Sendable {
    private let values: [String: String]

    /// Parses the fields and keeps the first value of each name; nil for more than 20 fields, and for text that is not UTF-8.
    init?(_ text: some Collection<UInt8>) {
        var values: [String: String] = [:]
        let fields = text.split(separator: UInt8(ascii: "&"))
        guard fields.count <= 20 else { return nil }
        for field in fields {
            let parts = field.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
            guard let name = FormFields.decoded(parts[0]),
                let value = parts.count > 1 ? FormFields.decoded(parts[1]) : ""
            else { return nil }
            if values[name] == nil { values[name] = value }
        }
        self.values = values
    }

    /// Parses the query of a request's target; nil also without one.
    init?(queryOf uri: String) {
        guard let start = uri.utf8.firstIndex(of: UInt8(ascii: "?")) else { return nil }
        self.init(uri.utf8[uri.utf8.index(after: start)...].prefix { $0 != UInt8(ascii: "#") })
    }

    subscript(_ name: String) -> String? {
        values[name]
    }

    /// Decodes percent-encoding; nil for text that is not UTF-8.
    ///
    /// - Parameter plusIsSpace: Whether a plus stands for a space, as in forms and queries but not in paths.
    static func decoded(_ bytes: some Collection<UInt8>, plusIsSpace: Bool = true) -> String? {
        let isPlain = !bytes.contains { $0 == UInt8(ascii: "%") || (plusIsSpace && $0 == UInt8(ascii: "+")) }
        guard !isPlain else { return String(validating: bytes, as: UTF8.self) }
        var decoded: [UInt8] = []
        var rest = Array(bytes)[...]
        while let byte = rest.popFirst() {
            switch byte {
            case UInt8(ascii: "+") where plusIsSpace: decoded.append(UInt8(ascii: " "))
            case UInt8(ascii: "%"):
                guard let high = rest.popFirst().flatMap(Hexadecimal.value),
                    let low = rest.popFirst().flatMap(Hexadecimal.value)
                else { return nil }
                decoded.append(high << 4 | low)
            default: decoded.append(byte)
            }
        }
        return String(validating: decoded, as: UTF8.self)
    }
}
