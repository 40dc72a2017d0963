import SkyrowJSON
public import SkyrowModel
import SkyrowProtocol

/// A key with scopes of an application, as the holder of the master key sees it.
public struct AccessKey: Hashable, Sendable {
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
    /// Until when the text before the last ``SkyrowClient/rotateKey(_:overlap:)`` is accepted.
    public var previousUntil: Timestamp?

    /// The purpose of a key.
    public enum Kind: String, Hashable, Sendable, CaseIterable {
        /// Identifies a client, as an API key does.
        case client
        /// Passes the rules of records within its scopes.
        case server
    }
}

/// A key and its text, which the service shows only once.
public struct IssuedAccessKey: Hashable, Sendable {
    public var key: AccessKey
    /// A secret, which clients send as their API key.
    public var text: String
}

extension IssuedAccessKey: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    public var description: String { "IssuedAccessKey(key: \(key.id), text: <redacted>)" }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: ["key": key]) }
}

extension SkyrowClient {
    /// Creates a key; requires the master key. Only this result contains the text of the key.
    ///
    /// ```swift
    /// let issued = try await client.createKey("ios", scopes: ["read", "type:note"])
    /// print(issued.text)  // sky_k7f3q9x2a_…
    /// ```
    ///
    /// - Parameters:
    ///   - name: the purpose of the key.
    ///   - kind: whether clients or a server send it.
    ///   - scopes: what the key may do; empty for all that its kind may do.
    ///   - networks: the addresses and ranges from which the key is accepted; empty for any.
    ///   - expiresAt: when the key expires; nil means never.
    public func createKey(
        _ name: String,
        kind: AccessKey.Kind = .client,
        scopes: [String] = [],
        networks: [String] = [],
        expiresAt: Timestamp? = nil
    ) async throws(ClientError) -> IssuedAccessKey {
        try await call(.keyCreate) {
            $0.keyCreateParameters(
                name: name,
                kind: kind.rawValue,
                scopes: scopes,
                networks: networks,
                expiresAt: expiresAt
            )
        } read: { json throws(SkyrowError) in
            try IssuedAccessKey(result: json)
        }
    }

    /// Returns the keys of the application, including those revoked within 90 days; requires the master key.
    public func keys() async throws(ClientError) -> [AccessKey] {
        try await call(.keyList) { json throws(SkyrowError) in
            var keys: [AccessKey] = []
            guard let elements = json["keys"]?.elements else {
                throw SkyrowError(.badRequest, "The result must have the keys.")
            }
            for element in elements { keys.append(try AccessKey(result: element)) }
            return keys
        }
    }

    /// Gives a key a new text; requires the master key.
    ///
    /// - Parameters:
    ///   - id: the id of the key.
    ///   - overlap: how long the former text remains accepted; nil means a week.
    public func rotateKey(_ id: String, overlap: Duration? = nil) async throws(ClientError) -> IssuedAccessKey {
        try await call(.keyRotate) {
            $0.keyIDParameters(id, overlap: overlap)
        } read: { json throws(SkyrowError) in
            try IssuedAccessKey(result: json)
        }
    }

    /// Revokes a key; requires the master key. Within a second no process of the service accepts it.
    public func revokeKey(_ id: String) async throws(ClientError) {
        try await call(.keyRevoke, repeatability: .safe) {
            $0.keyIDParameters(id)
        } read: { _ throws(SkyrowError) in
        }
    }
}

extension IssuedAccessKey {
    fileprivate init(result json: JSONView) throws(SkyrowError) {
        guard let text = json["key"]?.string else {
            throw SkyrowError(.badRequest, "The result must have the text of the key.")
        }
        self.init(key: try AccessKey(result: json), text: text)
    }
}

extension AccessKey {
    fileprivate init(result json: JSONView) throws(SkyrowError) {
        guard let id = json["id"]?.string, let name = json["name"]?.string,
            let kind = json["kind"]?.string.flatMap(Kind.init(rawValue:)),
            let createdAt = try json.timestamp("created_at")
        else { throw SkyrowError(.badRequest, "A key must have an id, a name, a kind and created_at.") }
        self.init(
            id: id,
            name: name,
            kind: kind,
            scopes: json["scopes"]?.elements.compactMap(\.string) ?? [],
            networks: json["networks"]?.elements.compactMap(\.string) ?? [],
            createdAt: createdAt,
            expiresAt: try json.timestamp("expires_at"),
            revokedAt: try json.timestamp("revoked_at"),
            lastUsedAt: try json.timestamp("last_used_at"),
            previousUntil: try json.timestamp("previous_until")
        )
    }
}

extension JSONView {
    fileprivate func timestamp(_ name: StaticString) throws(SkyrowError) -> Timestamp? {
        guard let text = self[name]?.string else { return nil }
        return try Timestamp(rfc3339: text)
    }
}
