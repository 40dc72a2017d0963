import SkyrowCrypto
import SkyrowJSON

/// A new code in two forms, one for links and one for typing; tables store its hashes.
struct OneTimeCode: Hashable, Sendable {
    /// Not secret: binds the digits to the client that requested them.
    let id: [UInt8]
    /// 256 random bits.
    let link: String
    /// Six digits, uniformly distributed.
    let digits: String

    /// Generates a code from the operating system's random numbers.
    init() {
        var generator = SystemRandomNumberGenerator()
        self.init(using: &generator)
    }

    init(using generator: inout some RandomNumberGenerator) {
        id = (0..<CodeHandle.byteCount).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
        link = Base64URL.encode((0..<32).map { _ in UInt8.random(in: .min ... .max, using: &generator) })
        let number = String(Int.random(in: 0..<1_000_000, using: &generator))
        digits = String(repeating: "0", count: 6 - number.count) + number
    }

    /// Hashes a link's code for lookup. It has 256 random bits, so its plain hash is not searchable.
    static func linkHash(_ link: String) -> [UInt8] {
        SHA256.hash(of: link).bytes
    }

    /// Returns the digits as typed, without spaces or hyphens between them; nil for an invalid text.
    static func digits(_ text: String) -> String? {
        let bytes = text.utf8.filter { $0 != UInt8(ascii: " ") && $0 != UInt8(ascii: "-") }
        guard bytes.count == 6, bytes.allSatisfy(isDigit) else { return nil }
        return String(decoding: bytes, as: UTF8.self)
    }
}

/// The handle of a code as clients have it: `c_` and 22 letters.
struct CodeHandle: Hashable, Sendable, CustomStringConvertible {
    static let byteCount = 16

    let id: [UInt8]

    init(_ id: [UInt8]) {
        self.id = id
    }

    /// nil for a text that is not a handle.
    init?(_ text: String) {
        guard text.hasPrefix("c_"), let id = Base64URL.decode(String(text.dropFirst(2))), id.count == Self.byteCount
        else { return nil }
        self.id = id
    }

    var description: String { "c_" + Base64URL.encode(id) }
}
