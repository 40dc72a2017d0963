/// A second factor of an account.
public struct AccountFactor: Hashable, Sendable {
    /// The kind of code that a factor takes.
    public enum Kind: String, Hashable, Sendable, CaseIterable {
        /// Time-based codes, from an application that has the secret.
        case totp
        /// Codes that are valid once each.
        case recovery
    }

    public var kind: Kind
    public var confirmedAt: Timestamp
    /// nil before the first use.
    public var lastUsedAt: Timestamp?
    /// The number of remaining codes; nil for time-based codes.
    public var left: Int?

    package init(_ kind: Kind, confirmedAt: Timestamp, lastUsedAt: Timestamp? = nil, left: Int? = nil) {
        self.kind = kind
        self.confirmedAt = confirmedAt
        self.lastUsedAt = lastUsedAt
        self.left = left
    }
}

/// A secret for time-based codes, which its user enters into an application.
public struct TOTPEnrolment: Hashable, Sendable {
    /// In Base32.
    public var secret: String
    /// The same as an `otpauth:` address, which is shown as a QR code.
    public var uri: String

    package init(secret: String, uri: String) {
        self.secret = secret
        self.uri = uri
    }
}

extension SkyrowError {
    /// `137` for a log-in whose first proof was correct.
    package static func secondFactorRequired(handle: String, factors: [AccountFactor.Kind]) -> SkyrowError {
        SkyrowError(
            .secondFactorRequired,
            "Send a code of the second factor.",
            info: ["handle": .string(handle), "factors": .list(factors.map { .string($0.rawValue) })]
        )
    }
}
