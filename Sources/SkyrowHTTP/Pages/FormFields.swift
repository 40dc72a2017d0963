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

    subscript(_ name: String) -> String? {
        values[name]
    }

    /// Decodes percent-encoding, and a plus as a space; nil for text that is not UTF-8.
    static func decoded(_ bytes: some Collection<UInt8>) -> String? {
        var decoded: [UInt8] = []
        var rest = Array(bytes)[...]
        while let byte = rest.popFirst() {
            switch byte {
            case UInt8(ascii: "+"): decoded.append(UInt8(ascii: " "))
            case UInt8(ascii: "%"):
                guard let high = rest.popFirst().flatMap(hexadecimal), let low = rest.popFirst().flatMap(hexadecimal)
                else { return nil }
                decoded.append(high << 4 | low)
            default: decoded.append(byte)
            }
        }
        return String(validating: decoded, as: UTF8.self)
    }

    private static func hexadecimal(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}
