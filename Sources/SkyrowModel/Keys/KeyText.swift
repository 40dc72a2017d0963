/// The text of a key whose hash a database stores: `sky_k7f3q9x2a_<43 letters and digits>_<6 letters and digits>`.
///
/// The prefix lets secret scanners find it, and the checksum at the end reveals a mistyped text before a database is queried.
/// In a key of another application than the service's own the id is `shop.k7f3q9x2a`, so that a request finds its application.
/// A valid text does not imply that the key exists: the SHA-256 of the whole text is looked up.
///
/// ```swift
/// KeyText("sky_k7f3q9x2a_…_0aZ3f9")?.id  // k7f3q9x2a
/// ```
package struct KeyText: Hashable, Sendable {
    /// nil for the service's own application.
    package let application: ApplicationName?
    package let id: KeyID
    package let text: String

    /// The number of random letters and digits of a key: 256 bits.
    package static let secretLength = 43
    private static let checksumLength = 6
    private static let prefix = "sky_"
    /// The length of the longest text: prefix, application, id, secret and checksum with their separators.
    private static let maximumBytes = 4 + 63 + 1 + KeyID.length + 1 + secretLength + 1 + checksumLength

    /// Parses a key; nil for any other text, and for a wrong checksum.
    package init?(_ text: String) {
        let bytes = Array(text.utf8)
        guard bytes.count <= Self.maximumBytes, bytes.starts(with: Self.prefix.utf8) else { return nil }
        let parts = bytes.split(separator: UInt8(ascii: "_"), omittingEmptySubsequences: false)
        // The name of an application may contain underscores; the other parts do not.
        guard parts.count >= 4, let checksum = parts.last, let secret = parts.dropLast().last else { return nil }
        guard secret.count == Self.secretLength, secret.allSatisfy(Self.isLetterOrDigit) else { return nil }
        let body = bytes.dropLast(checksum.count + 1)
        guard checksum.elementsEqual(Self.checksum(of: body)) else { return nil }
        let name = String(decoding: body.dropFirst(4).dropLast(Self.secretLength + 1), as: UTF8.self)
        let halves = name.split(separator: ".", omittingEmptySubsequences: false)
        guard halves.count <= 2, let last = halves.last, let id = KeyID(String(last)) else { return nil }
        self.id = id
        if halves.count == 2 {
            guard let application = try? ApplicationName(String(halves[0])), application != .default else { return nil }
            self.application = application
        } else {
            application = nil
        }
        self.text = text
    }

    /// Creates the text of a key.
    ///
    /// - Parameter secret: 43 random letters and digits.
    package init(_ id: KeyID, secret: String, of application: ApplicationName) {
        self.id = id
        self.application = application == .default ? nil : application
        let name = application == .default ? id.rawValue : "\(application).\(id)"
        let body = "\(Self.prefix)\(name)_\(secret)"
        text = "\(body)_\(String(decoding: Self.checksum(of: body.utf8), as: UTF8.self))"
    }

    /// Whether a text begins like a key; other texts need not be parsed.
    package static func isLikely(_ text: String) -> Bool {
        text.utf8.starts(with: prefix.utf8)
    }

    /// Returns the CRC-32 (ISO 3309, as in zlib) in six letters and digits, the highest first.
    private static func checksum(of bytes: some Sequence<UInt8>) -> [UInt8] {
        var remainder: UInt32 = .max
        for byte in bytes {
            remainder ^= UInt32(byte)
            for _ in 0..<8 { remainder = remainder & 1 == 1 ? remainder >> 1 ^ 0xEDB8_8320 : remainder >> 1 }
        }
        remainder = ~remainder
        var digits: [UInt8] = []
        for _ in 0..<checksumLength {
            digits.append(alphabet[Int(remainder % 62)])
            remainder /= 62
        }
        return digits.reversed()
    }

    private static let alphabet = Array("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz".utf8)

    private static func isLetterOrDigit(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "a")...UInt8(ascii: "z"):
            true
        default: false
        }
    }
}

/// The id of a key in lists and in the audit log: `k` and eight lower-case letters and digits. It is not a credential.
package struct KeyID: Hashable, Comparable, Sendable, CustomStringConvertible {
    package let rawValue: String

    package static let length = 9

    /// nil for a text that is not an id.
    package init?(_ text: String) {
        let bytes = text.utf8
        guard bytes.count == Self.length, bytes.first == UInt8(ascii: "k") else { return nil }
        let isID = bytes.allSatisfy { byte in
            (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
                || (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte)
        }
        guard isID else { return nil }
        rawValue = text
    }

    /// Generates a random id.
    package init(using generator: inout some RandomNumberGenerator) {
        let alphabet = Array("0123456789abcdefghijklmnopqrstuvwxyz".utf8)
        let rest = (1..<Self.length).map { _ in alphabet[Int.random(in: alphabet.indices, using: &generator)] }
        rawValue = String(decoding: [UInt8(ascii: "k")] + rest, as: UTF8.self)
    }

    package static func < (a: KeyID, b: KeyID) -> Bool {
        a.rawValue < b.rawValue
    }

    package var description: String { rawValue }
}
