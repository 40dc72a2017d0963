/// The `application/x-www-form-urlencoded` format.
package enum WebForm {
    /// `code=a%2Fb&state=x`
    package static func encoded(_ fields: [(name: String, value: String)]) -> String {
        fields.map { "\(encoded($0.name))=\(encoded($0.value))" }.joined(separator: "&")
    }

    /// Percent-encodes all bytes but the unreserved characters of RFC 3986.
    package static func encoded(_ text: String) -> String {
        var encoded: [UInt8] = []
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
                UInt8(ascii: "~"):
                encoded.append(byte)
            default:
                encoded += [UInt8(ascii: "%"), digit(byte >> 4), digit(byte & 15)]
            }
        }
        return String(decoding: encoded, as: UTF8.self)
    }

    /// Returns an address with fields added to its query.
    package static func appending(_ fields: [(name: String, value: String)], to address: String) -> String {
        guard !fields.isEmpty else { return address }
        let mark = !address.contains("?") ? "?" : address.hasSuffix("?") || address.hasSuffix("&") ? "" : "&"
        return address + mark + encoded(fields)
    }

    private static func digit(_ value: UInt8) -> UInt8 {
        value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "A") + value - 10
    }
}
