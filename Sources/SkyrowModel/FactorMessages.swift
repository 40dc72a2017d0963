/// A second factor of an account.
public struct AccountFactor: Hashable, Sendable {
    /// What kind of code it takes.
    public enum Kind: String, Hashable, Sendable {
        /// Codes by time, of an application that has the secret.
        case totp
        /// Codes that count once each.
        case recovery
    }

    public var kind: Kind
    public var confirmedAt: Timestamp
    /// nil for one that was not used yet.
    public var lastUsedAt: Timestamp?
    /// How many codes are left; nil for codes by time.
    public var left: Int?

    package init(_ kind: Kind, confirmedAt: Timestamp, lastUsedAt: Timestamp? = nil, left: Int? = nil) {
        self.kind = kind
        self.confirmedAt = confirmedAt
        self.lastUsedAt = lastUsedAt
        self.left = left
    }
}

/// A secret for codes by time, which its user puts into an application.
public struct TOTPEnrolment: Hashable, Sendable {
    /// In Base32.
    public var secret: String
    /// The same as an address `otpauth:`, which is shown as a QR code.
    public var uri: String

    package init(secret: String, uri: String) {
        self.secret = secret
        self.uri = uri
    }
}

/// `auth:login:factor`, decoded.
package struct FactorLogInRequest: Hashable, Sendable {
    package var handle: String
    package var code: String

    package init(handle: String, code: String) {
        self.handle = handle
        self.code = code
    }
}

extension SkyrowError {
    /// `137` for a log-in whose first proof was right.
    package static func secondFactorRequired(handle: String, factors: [AccountFactor.Kind]) -> SkyrowError {
        SkyrowError(
            .secondFactorRequired,
            "Send a code of the second factor.",
            info: ["handle": .string(handle), "factors": .list(factors.map { .string($0.rawValue) })]
        )
    }
}
