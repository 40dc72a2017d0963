/// The standard alphabet of RFC 4648, section 4, with padding.
private let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

/// The value of each byte of the alphabet, 0xFF for every other byte.
private let sextets: [UInt8] = {
    var sextets = [UInt8](repeating: 0xFF, count: 256)
    for (value, byte) in alphabet.enumerated() { sextets[Int(byte)] = UInt8(value) }
    return sextets
}()

/// Decodes base64 strictly: complete padding, no other characters, no bits that are thrown away; nil for anything else.
package func decodeBase64(_ text: some Collection<UInt8>) -> [UInt8]? {
    guard text.count % 4 == 0 else { return nil }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(text.count / 4 * 3)
    var group: UInt32 = 0
    var sextetCount = 0
    var paddingCount = 0
    for byte in text {
        if byte == UInt8(ascii: "=") {
            paddingCount += 1
            continue
        }
        let sextet = sextets[Int(byte)]
        guard paddingCount == 0, sextet != 0xFF else { return nil }
        group = group << 6 | UInt32(sextet)
        sextetCount += 1
        if sextetCount == 4 {
            bytes.append(UInt8(truncatingIfNeeded: group >> 16))
            bytes.append(UInt8(truncatingIfNeeded: group >> 8))
            bytes.append(UInt8(truncatingIfNeeded: group))
            (group, sextetCount) = (0, 0)
        }
    }
    switch (sextetCount, paddingCount) {
    case (0, 0):
        return bytes
    case (2, 2):
        guard group & 0xF == 0 else { return nil }
        bytes.append(UInt8(truncatingIfNeeded: group >> 4))
        return bytes
    case (3, 1):
        guard group & 0x3 == 0 else { return nil }
        bytes.append(UInt8(truncatingIfNeeded: group >> 10))
        bytes.append(UInt8(truncatingIfNeeded: group >> 2))
        return bytes
    default:
        return nil
    }
}

/// Encodes bytes as base64 with padding.
package func encodeBase64(_ bytes: [UInt8]) -> String {
    let text = Base64URL.encode(bytes).utf8.map { byte in
        byte == UInt8(ascii: "-") ? UInt8(ascii: "+") : byte == UInt8(ascii: "_") ? UInt8(ascii: "/") : byte
    }
    return String(decoding: text, as: UTF8.self) + String(repeating: "=", count: (4 - text.count % 4) % 4)
}

extension JSONWriter {
    /// Writes bytes as a base64 string.
    package func base64(_ bytes: UnsafeRawBufferPointer) {
        separate()
        append(UInt8(ascii: "\""))
        let out = reserve((bytes.count + 2) / 3 * 4)
        var length = 0
        alphabet.withUnsafeBufferPointer { alphabet in
            for start in stride(from: 0, to: bytes.count, by: 3) {
                let count = min(3, bytes.count - start)
                let group =
                    UInt32(bytes[start]) << 16
                    | (count > 1 ? UInt32(bytes[start + 1]) << 8 : 0)
                    | (count > 2 ? UInt32(bytes[start + 2]) : 0)
                out[length] = alphabet[Int(group >> 18)]
                out[length + 1] = alphabet[Int(group >> 12 & 63)]
                out[length + 2] = count > 1 ? alphabet[Int(group >> 6 & 63)] : UInt8(ascii: "=")
                out[length + 3] = count > 2 ? alphabet[Int(group & 63)] : UInt8(ascii: "=")
                length += 4
            }
        }
        advance(length)
        append(UInt8(ascii: "\""))
    }
}
