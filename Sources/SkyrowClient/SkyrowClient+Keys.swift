public import SkyrowModel
public import SkyrowProtocol

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
        let creation: KeyCreation
        do throws(SkyrowError) {
            creation = KeyCreation(
                name: name,
                kind: kind,
                scopes: try scopes.map { text throws(SkyrowError) in try KeyScope(text) },
                networks: try networks.map { text throws(SkyrowError) in try AddressRange(checked: text) },
                expiresAt: expiresAt
            )
        } catch {
            throw .refused(error)
        }
        return try await call(Actions.keyCreate, creation)
    }

    /// Returns the keys of the application, including those revoked within 90 days; requires the master key.
    public func keys() async throws(ClientError) -> [AccessKey] {
        try await call(Actions.keyList, ())
    }

    /// Gives a key a new text; requires the master key.
    ///
    /// - Parameters:
    ///   - id: the id of the key.
    ///   - overlap: how long the former text remains accepted; nil means a week.
    public func rotateKey(_ id: String, overlap: Duration? = nil) async throws(ClientError) -> IssuedAccessKey {
        let rotation = KeyRotation(id: try keyID(id), overlap: overlap ?? KeyRotation.defaultOverlap)
        return try await call(Actions.keyRotate, rotation)
    }

    /// Revokes a key; requires the master key. Within a second no process of the service accepts it.
    public func revokeKey(_ id: String) async throws(ClientError) {
        try await call(Actions.keyRevoke, keyID(id))
    }

    private func keyID(_ text: String) throws(ClientError) -> KeyID {
        do throws(SkyrowError) {
            return try KeyID(checked: text)
        } catch {
            throw .refused(error)
        }
    }
}
