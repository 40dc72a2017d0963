import SkyrowCrypto
import SkyrowJSON
import SkyrowModel

/// What a token of a call by a function says: for whom the function runs, how deeply, and until when.
struct CallToken: Hashable, Sendable {
    let user: UserID
    /// How many functions have called each other up to the one that has the token; at least 1.
    let depth: Int
    let end: Timestamp

    /// Whether a text may be such a token, which few are; the check costs a comparison of three bytes.
    static func isLikely(_ text: String) -> Bool {
        var bytes = text.utf8.makeIterator()
        return bytes.next() == UInt8(ascii: "f") && bytes.next() == UInt8(ascii: "c")
            && bytes.next() == UInt8(ascii: "_")
    }

    fileprivate static let prefix = "fc_"
}

/// Makes tokens with which a function calls actions in the name of its caller, and verifies them.
///
/// ```swift
/// let key = CallTokenKey(try await store.callTokenKey(), of: application)
/// let text = key.text(of: CallToken(user: "ann", depth: 1, end: deadline))   // fc_…
/// key.token(text)                                                          // ann, 1, deadline
/// ```
///
/// A token is its content and an HMAC-SHA-256 of that under a key of the application, so no row is written for it.
struct CallTokenKey: Sendable {
    private static let codeBytes = 32
    /// Upper bound on the text of a token: a user id has at most 255 bytes.
    private static let maximumLength = 512

    private let signing: HMACSHA256
    private let standing: HMACSHA256

    /// - Parameter bytes: the application's key for this purpose.
    init(_ bytes: [UInt8], of application: ApplicationName) {
        let key = HMACSHA256(key: bytes)
        signing = HMACSHA256(key: key.code(of: Array("sign:\(application)".utf8)).bytes)
        standing = HMACSHA256(key: key.code(of: Array("standing:\(application)".utf8)).bytes)
    }

    func text(of token: CallToken) -> String {
        let end = withUnsafeBytes(of: token.end.microseconds.bigEndian) { Array($0) }
        let content = [UInt8(clamping: token.depth)] + end + token.user.rawValue.utf8
        return CallToken.prefix + Base64URL.encode(signing.code(of: content).bytes + content)
    }

    /// Returns what a token says, whether it has ended or not; nil for any other text.
    func token(_ text: String) -> CallToken? {
        guard CallToken.isLikely(text), text.utf8.count <= Self.maximumLength,
            let bytes = Base64URL.decode(String(text.dropFirst(CallToken.prefix.count))),
            bytes.count > Self.codeBytes + 9
        else { return nil }
        let content = Array(bytes.dropFirst(Self.codeBytes))
        guard signing.code(of: content).bytes.isEqualInConstantTime(to: Array(bytes.prefix(Self.codeBytes))) else {
            return nil
        }
        let end = content[1..<9].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        return CallToken(
            user: UserID(String(decoding: content[9...], as: UTF8.self)),
            depth: Int(content[0]),
            end: Timestamp(microseconds: Int64(bitPattern: end))
        )
    }

    /// The place of a user's standing in the cache of sessions. It is no hash of a text that a client could send as a token.
    func standingHash(of user: UserID) -> TokenHash {
        TokenHash(standing.code(of: Array(user.rawValue.utf8)))
    }
}
