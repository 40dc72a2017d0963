import SkyrowJSON
public import SkyrowModel
import SkyrowWire

/// A key with scopes of an application, as those see it who hold the master key.
public struct AccessKey: Hashable, Sendable {
    /// By which keys are named; it opens nothing.
    public var id: String
    public var name: String
    public var kind: Kind
    /// What it may do, such as `read`, `type:note` or `action:schema:fetch`; empty: all that is open to its kind.
    public var scopes: [String]
    /// From where it counts, as addresses and ranges; empty: from everywhere.
    public var networks: [String]
    public var createdAt: Timestamp
    /// When it ends by itself; nil: never.
    public var expiresAt: Timestamp?
    public var revokedAt: Timestamp?
    /// To a minute or two; nil: it was not used yet.
    public var lastUsedAt: Timestamp?
    /// Until when the text before the last ``SkyrowClient/rotateKey(_:overlap:)`` is accepted.
    public var previousUntil: Timestamp?

    /// What a key is for.
    public enum Kind: String, Hashable, Sendable, CaseIterable {
        /// It lets clients in, as an API key does.
        case client
        /// It passes the rules of records within its scopes.
        case server
    }
}

/// A key and its text, which the service shows this once.
public struct IssuedAccessKey: Hashable, Sendable {
    public var key: AccessKey
    /// A secret: clients send it as their API key.
    public var text: String
}

extension IssuedAccessKey: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    public var description: String { "IssuedAccessKey(key: \(key.id), text: <redacted>)" }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: ["key": key]) }
}

extension SkyrowClient {
    /// Makes a key with the master key; its text is in the result, and nowhere else.
    ///
    /// ```swift
    /// let issued = try await client.createKey("ios", scopes: ["read", "type:note"])
    /// print(issued.text)  // sky_k7f3q9x2a_…
    /// ```
    ///
    /// - Parameters:
    ///   - name: what it is for.
    ///   - kind: whether clients or a server send it.
    ///   - scopes: what it may do; none: all that is open to its kind.
    ///   - networks: addresses and ranges from which it counts; none: from everywhere.
    ///   - expiresAt: when it ends by itself; nil: never.
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

    /// The keys of the application, those that were revoked within 90 days too, with the master key.
    public func keys() async throws(ClientError) -> [AccessKey] {
        try await call(.keyList) { json throws(SkyrowError) in
            var keys: [AccessKey] = []
            guard let elements = json["keys"]?.elements else {
                throw SkyrowError(.badRequest, "The result has the keys.")
            }
            for element in elements { keys.append(try AccessKey(result: element)) }
            return keys
        }
    }

    /// Gives a key another text with the master key.
    ///
    /// - Parameters:
    ///   - id: that of the key.
    ///   - overlap: how long the text so far is accepted beside the new one; nil: a week.
    public func rotateKey(_ id: String, overlap: Duration? = nil) async throws(ClientError) -> IssuedAccessKey {
        try await call(.keyRotate) {
            $0.keyIDParameters(id, overlap: overlap)
        } read: { json throws(SkyrowError) in
            try IssuedAccessKey(result: json)
        }
    }

    /// Ends a key with the master key; within a second no process of the service accepts it.
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
            throw SkyrowError(.badRequest, "The result has the text of the key.")
        }
        self.init(key: try AccessKey(result: json), text: text)
    }
}

extension AccessKey {
    fileprivate init(result json: JSONView) throws(SkyrowError) {
        guard let id = json["id"]?.string, let name = json["name"]?.string,
            let kind = json["kind"]?.string.flatMap(Kind.init(rawValue:)),
            let createdAt = try json.timestamp("created_at")
        else { throw SkyrowError(.badRequest, "A key has an id, a name, a kind and created_at.") }
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
