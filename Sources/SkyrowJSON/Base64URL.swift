/// Base64 for addresses and file names (RFC 4648, section 5), without padding.
package enum Base64URL {
    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)

    package static func encode(_ bytes: [UInt8]) -> String {
        let length = (bytes.count * 4 + 2) / 3
        return String(unsafeUninitializedCapacity: length) { text in
            for place in 0..<length {
                // The six bits from this one on, of which some may be behind the last byte.
                let bit = place * 6
                let first = UInt16(bytes[bit / 8]) << 8
                let second = bit / 8 + 1 < bytes.count ? UInt16(bytes[bit / 8 + 1]) : 0
                text[place] = alphabet[Int((first | second) >> UInt16(10 - bit % 8) & 63)]
            }
            return length
        }
    }

    /// The bytes of a text that `encode` makes; nil for any other, such as one with padding or superfluous bits.
    package static func decode(_ text: String) -> [UInt8]? {
        var standard: [UInt8] = []
        standard.reserveCapacity(text.utf8.count + 3)
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "-"): standard.append(UInt8(ascii: "+"))
            case UInt8(ascii: "_"): standard.append(UInt8(ascii: "/"))
            case UInt8(ascii: "+"), UInt8(ascii: "/"), UInt8(ascii: "="): return nil
            default: standard.append(byte)
            }
        }
        while !standard.count.isMultiple(of: 4) { standard.append(UInt8(ascii: "=")) }
        return decodeBase64(standard)
    }
}
