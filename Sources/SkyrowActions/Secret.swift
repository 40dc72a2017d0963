import Crypto

/// A text that never prints and is compared in constant time: an API key, the master key, a password.
///
/// ```swift
/// let key = Secret("s3cr3t")
/// print(key)              // <redacted>
/// key.matches(candidate)  // takes the same time wherever the two differ
/// ```
package struct Secret: Sendable {
    private let text: String
    private let digest: SHA256Digest

    package init(_ text: String) {
        self.text = text
        digest = SHA256.hash(data: Array(text.utf8))
    }

    /// Compares the SHA-256 digests, in constant time.
    package func matches(_ candidate: String) -> Bool {
        matches(SHA256.hash(data: Array(candidate.utf8)))
    }

    /// The same for a candidate that was already hashed; swift-crypto compares digests in constant time.
    func matches(_ candidate: SHA256Digest) -> Bool {
        digest == candidate
    }

    /// The text itself, for the few places that must show or store it; the name is there for reviewers to search.
    package var exposed: String { text }
}

extension Secret: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    package var description: String { "<redacted>" }
    package var debugDescription: String { "<redacted>" }
    package var customMirror: Mirror { Mirror(self, children: []) }
}
