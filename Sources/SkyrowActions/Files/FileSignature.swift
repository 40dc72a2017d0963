/// What the address of a file ends with: `expiredAt=1549522000&signature=…`.
package struct FileSignature: Hashable, Sendable {
    /// The texts as they are in the query.
    package let expiredAt: String
    package let signature: String

    package init(expiredAt: String, signature: String) {
        self.expiredAt = expiredAt
        self.signature = signature
    }

    /// What a signature allows.
    enum Purpose: Hashable, Sendable {
        case download
        case upload
    }

    /// When the address expires, in seconds since 1970; nil for a text that is not a number of them.
    var expiry: Int64? {
        let digits = UInt8(ascii: "0")...UInt8(ascii: "9")
        guard expiredAt.utf8.allSatisfy({ digits.contains($0) }) else { return nil }
        return Int64(expiredAt)
    }
}
