import SkyrowJSON
public import SkyrowModel

/// A sign-in with a provider that has started.
public struct ProviderStart: Hashable, Sendable {
    /// The address of the provider, which the user's browser must open.
    public var url: String
    /// When the user must have returned.
    public var expiresAt: Timestamp

    package init(url: String, expiresAt: Timestamp) {
        self.url = url
        self.expiresAt = expiresAt
    }
}

extension Codec<AccountIdentity> {
    static let accountIdentity = object(
        Form(
            { AccountIdentity(provider: $0, subject: $1, profile: $2, createdAt: $3, lastUsedAt: $4) },
            Member("provider", \.provider, .string),
            Member("subject", \.subject, .string),
            Member("profile", \.profile, .anyObject()),
            Member("created_at", \.createdAt, .instant),
            Member(ifAny: "last_used_at", \.lastUsedAt, .instant)
        )
    )
}

extension Codec<ProviderStart> {
    static let providerStart = object(
        Form(
            ProviderStart.init(url:expiresAt:),
            Member("url", \.url, .string),
            Member("expires_at", \.expiresAt, .instant)
        )
    )
}

extension Codec<ProviderTokens> {
    static let providerTokens = object(
        Form(
            ProviderTokens.init(provider:subject:response:receivedAt:),
            Member("provider", \.provider, .string),
            Member("subject", \.subject, .string),
            Member("token", \.response, .anyObject()),
            Member("received_at", \.receivedAt, .instant)
        )
    )
}

extension Codec<JSONText> {
    /// An object with any members, of at most this many bytes of JSON.
    static func anyObject(atMost maximum: Int = .max) -> Codec {
        Codec(.object([], others: .any)) { json, name throws(SkyrowError) in
            guard json.isObject else { throw .wrongType(name, "an object") }
            guard json.source.count <= maximum else {
                throw .invalidArgument("\"\(name)\" must be at most \(maximum) bytes of JSON.", name)
            }
            return json.jsonText
        } write: { text, writer in
            writer.json(text)
        }
    }
}
