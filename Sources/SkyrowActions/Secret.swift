import SkyrowCrypto

/// A text that never prints and is compared in constant time: an API key, the master key, a password.
///
/// ```swift
/// let key = Secret("s3cr3t")
/// print(key)  // <redacted>
/// ```
package struct Secret: Sendable {
    private let text: String
    private let digest: SHA256Digest

    package init(_ text: String) {
        self.text = text
        digest = SHA256.hash(of: text)
    }

    /// Compares with a candidate's digest in constant time.
    func matches(_ candidate: SHA256Digest) -> Bool {
        digest == candidate
    }

    /// Compares with a candidate in constant time.
    package func matches(_ candidate: String) -> Bool {
        matches(SHA256.hash(of: candidate))
    }

    /// The text, for the few places that must show or store it; reviewers can search for this name.
    package var exposed: String { text }
}

extension Secret: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    package var description: String { "<redacted>" }
    package var debugDescription: String { "<redacted>" }
    package var customMirror: Mirror { Mirror(self, children: []) }
}
