public import SkyrowModel

/// A key with scopes of an application, as the holder of the master key sees it.
public struct AccessKey: Hashable, Sendable {
    public typealias Kind = KeyKind

    /// The id of the key, which is not a credential.
    public var id: String
    public var name: String
    public var kind: Kind
    /// What the key may do, such as `read`, `type:note` or `action:schema:fetch`; empty for all that its kind may do.
    public var scopes: [String]
    /// The addresses and ranges from which the key is accepted; empty for any.
    public var networks: [String]
    public var createdAt: Timestamp
    /// When the key expires; nil means never.
    public var expiresAt: Timestamp?
    public var revokedAt: Timestamp?
    /// When the key was last used, to a minute or two; nil before its first use.
    public var lastUsedAt: Timestamp?
    /// Until when the text before the last `key:rotate` is accepted.
    public var previousUntil: Timestamp?

    fileprivate static let form = Form(
        AccessKey.init(id:name:kind:scopes:networks:createdAt:expiresAt:revokedAt:lastUsedAt:previousUntil:),
        Member("id", \.id, .string(1...KeyID.length)),
        Member("name", \.name, .string(1...AccessList.maximumNameLength)),
        Member("kind", \.kind, .oneOf),
        Member("scopes", \.scopes, .list(of: .string)),
        Member("networks", \.networks, .list(of: .string)),
        Member("created_at", \.createdAt, .instant),
        Member(ifAny: "expires_at", \.expiresAt, .instant, "When the key expires; absent if it does not."),
        Member(ifAny: "revoked_at", \.revokedAt, .instant, "When the key was revoked."),
        Member(ifAny: "last_used_at", \.lastUsedAt, .instant, "Exact to a minute or two."),
        Member(
            ifAny: "previous_until",
            \.previousUntil,
            .instant,
            "Until when the text before the last `key:rotate` is accepted."
        )
    )
}

extension AccessKey {
    package init(_ key: StoredKey) {
        self.init(
            id: key.id.rawValue,
            name: key.name,
            kind: key.kind,
            scopes: key.scopes.map(\.text),
            networks: key.networks.map(\.description),
            createdAt: key.createdAt,
            expiresAt: key.expiresAt,
            revokedAt: key.revokedAt,
            lastUsedAt: key.lastUsedAt,
            previousUntil: key.previousUntil
        )
    }
}

/// A key and its text, which the service shows only once.
public struct IssuedAccessKey: Hashable, Sendable {
    public var key: AccessKey
    /// A secret, which clients send as their API key.
    public var text: String

    package init(_ key: AccessKey, text: String) {
        self.key = key
        self.text = text
    }
}

extension IssuedAccessKey: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    public var description: String { "IssuedAccessKey(key: \(key.id), text: <redacted>)" }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: ["key": key]) }
}

extension Codec<AccessKey> {
    package static let accessKey = object(AccessKey.form)
}

extension Codec<IssuedAccessKey> {
    /// A key with its text: `{"key": "sky_…", "id": "k7f3q9x2a", …}`.
    package static let issuedKey = object(
        Form(
            { IssuedAccessKey($1, text: $0) },
            Member("key", \.text, .string, "The text of the key, which only this response contains."),
            Member(\.key, members: AccessKey.form)
        )
    )
}

extension Codec<String> {
    /// 1 to 255 bytes without control characters; the database checks the rest of the rule.
    static let keyName = text(.string(maximum: AccessList.maximumNameLength)) { _ in
        KeyCreation.nameSentence
    } isFit: { text in
        text.isName && !text.unicodeScalars.contains { $0.value < 0x20 || $0.value == 0x7F }
    }
}

extension Codec<KeyID> {
    static let keyID = parsed(maximum: KeyID.length) { text, name throws(SkyrowError) in
        try KeyID(checked: text, name)
    } writing: {
        $0.rawValue
    }
}

extension KeyID {
    package init(checked text: String, _ name: String = "id") throws(SkyrowError) {
        guard let id = KeyID(text) else {
            throw .invalidArgument("The id of a key must be k and eight lower-case letters and digits.", name)
        }
        self = id
    }
}

extension Codec<KeyScope> {
    static let keyScope = parsed(maximum: 128) { text, name throws(SkyrowError) in
        do throws(SkyrowError) {
            return try KeyScope(text)
        } catch {
            throw .invalidArgument(error.message, name)
        }
    } writing: {
        $0.text
    }
}

extension Codec<AddressRange> {
    /// An address, or a range such as `10.0.0.0/8`.
    static let addressRange = parsed(maximum: 64) { text, name throws(SkyrowError) in
        try AddressRange(checked: text, name)
    } writing: {
        $0.description
    }
}

extension AddressRange {
    package init(checked text: String, _ name: String = "networks") throws(SkyrowError) {
        guard let range = AddressRange(text) else {
            throw .invalidArgument(
                "A network must be an address or a range such as 10.0.0.0/8, without bits beyond its prefix.",
                name
            )
        }
        self = range
    }
}
