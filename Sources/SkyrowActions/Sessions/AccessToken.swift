import SkyrowCrypto

/// A new access token, of which the database gets only the hash: `s_` and 43 of 62 letters and digits, 256 random bits.
struct AccessToken: Sendable {
    let text: String

    /// Generates a token from the operating system's random numbers.
    init() {
        var generator = SystemRandomNumberGenerator()
        self.init(using: &generator)
    }

    init(using generator: inout some RandomNumberGenerator) {
        text = "s_" + RandomText.letters(43, using: &generator)
    }

    var hash: TokenHash { TokenHash(of: text) }
}

/// Unguessable texts that a double click selects as a whole.
enum RandomText {
    private static let alphabet = Array("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz".utf8)

    /// Returns a number of letters and digits, 5.95 random bits each.
    static func letters(_ count: Int, using generator: inout some RandomNumberGenerator) -> String {
        String(
            decoding: (0..<count).map { _ in alphabet[Int.random(in: alphabet.indices, using: &generator)] },
            as: UTF8.self
        )
    }
}

/// The SHA-256 of an access token, by which its session is stored and cached.
///
/// A token has 256 random bits, so its plain hash is not searchable; and since lookups are by hash, their timing reveals nothing
/// about existing tokens.
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
    var bytes: [UInt8] { withUnsafeBytes(of: words) { Array($0) } }

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
