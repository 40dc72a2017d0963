import SkyrowCrypto

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A fresh access token: 256 random bits in base64url, of which the database only ever sees the hash.
struct AccessToken: Sendable {
    let text: String

    /// Draws a token from the operating system's random numbers.
    init() {
        var generator = SystemRandomNumberGenerator()
        self.init(using: &generator)
    }

    init(using generator: inout some RandomNumberGenerator) {
        let bytes = (0..<32).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
        text = Data(bytes).base64EncodedString()
            .replacing("+", with: "-")
            .replacing("/", with: "_")
            .replacing("=", with: "")
    }

    var hash: TokenHash { TokenHash(of: text) }
}

/// The SHA-256 of an access token, under which its session is stored and remembered.
///
/// A token has 256 bits of its own, so a plain hash cannot be searched; and because the hash is what is looked up, the
/// time a look-up takes reveals nothing about the tokens that exist.
struct TokenHash: Hashable, Sendable {
    private let words: (UInt64, UInt64, UInt64, UInt64)

    init(of token: String) {
        self.init(SHA256.hash(of: token))
    }

    init(_ digest: SHA256Digest) {
        words = digest.words
    }

    /// From 32 stored bytes; nil for another count.
    init?(bytes: some Collection<UInt8>) {
        guard bytes.count == 32 else { return nil }
        words = Array(bytes).withUnsafeBytes { $0.loadUnaligned(as: (UInt64, UInt64, UInt64, UInt64).self) }
    }

    /// The 32 bytes to store.
    var bytes: [UInt8] {
        withUnsafeBytes(of: words) { Array($0) }
    }

    static func == (a: TokenHash, b: TokenHash) -> Bool {
        a.words == b.words
    }

    func hash(into hasher: inout Hasher) {
        hasher.combine(words.0)
        hasher.combine(words.1)
        hasher.combine(words.2)
        hasher.combine(words.3)
    }
}
