/// Base64 for URLs and file names (RFC 4648, section 5), without padding.
package enum Base64URL {
    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)

    package static func encode(_ bytes: [UInt8]) -> String {
        let length = (bytes.count * 4 + 2) / 3
        return String(unsafeUninitializedCapacity: length) { text in
            alphabet.withUnsafeBufferPointer { alphabet in
                var place = 0
                // Three bytes make four letters. Missing bytes count as zero and have no letters.
                for first in stride(from: 0, to: bytes.count, by: 3) {
                    let second = first + 1 < bytes.count ? bytes[first + 1] : 0
                    let third = first + 2 < bytes.count ? bytes[first + 2] : 0
                    let group = UInt32(bytes[first]) << 16 | UInt32(second) << 8 | UInt32(third)
                    for letter in 0..<min(4, length - place) {
                        text[place + letter] = alphabet[Int(group >> UInt32(18 - 6 * letter)) & 63]
                    }
                    place += 4
                }
            }
            return length
        }
    }

    /// Returns the bytes of a text that `encode` makes; nil for any other text, such as one with padding or superfluous bits.
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
