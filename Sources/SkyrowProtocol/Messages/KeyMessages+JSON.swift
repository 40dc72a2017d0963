package import SkyrowJSON
package import SkyrowModel

extension KeyCreateRequest {
    /// Reads `key:create`.
    package init(parameters json: JSONView) throws(SkyrowError) {
        let parameters = Parameters(json)
        let name = try parameters.required("name", parameters.string("name"))
        var kind = KeyKind.client
        if let text = try parameters.string("kind") {
            guard let known = KeyKind(rawValue: text) else {
                throw .invalidArgument("\"kind\" must be client or server.", "kind")
            }
            kind = known
        }
        // Bounded before each of them is looked at.
        let scopeTexts = try parameters.names("scopes") ?? []
        guard scopeTexts.count <= KeyScope.maximumCount else {
            throw parameters.tooMany("scopes", KeyScope.maximumCount)
        }
        var scopes: [KeyScope] = []
        for (place, text) in scopeTexts.enumerated() {
            do throws(SkyrowError) {
                scopes.append(try KeyScope(text))
            } catch {
                throw SkyrowError.invalidArgument(error.message, "scopes").at(place).at("scopes")
            }
        }
        let networkTexts = try parameters.names("networks") ?? []
        guard networkTexts.count <= KeyCreateRequest.maximumNetworks else {
            throw parameters.tooMany("networks", KeyCreateRequest.maximumNetworks)
        }
        var networks: [AddressRange] = []
        for (place, text) in networkTexts.enumerated() {
            guard let network = AddressRange(text) else {
                throw SkyrowError.invalidArgument(
                    "A network must be an address or a range such as 10.0.0.0/8, without bits beyond its prefix.",
                    "networks"
                ).at(place).at("networks")
            }
            networks.append(network)
        }
        var expiresAt: Timestamp?
        if let text = try parameters.string("expires_at") {
            do throws(SkyrowError) {
                expiresAt = try Timestamp(rfc3339: text)
            } catch {
                throw .invalidArgument(error.message, "expires_at")
            }
        }
        try self.init(name: name, kind: kind, scopes: scopes, networks: networks, expiresAt: expiresAt)
    }
}

extension KeyRotateRequest {
    /// Reads `key:rotate`.
    package init(parameters json: JSONView) throws(SkyrowError) {
        let overlap = try Parameters(json).integer("overlap", in: 0...KeyRotateRequest.maximumOverlap)
        self.init(
            id: try KeyID(parameters: json),
            overlap: .seconds(overlap ?? KeyRotateRequest.defaultOverlap)
        )
    }
}

extension KeyID {
    /// Reads the `id` of `key:rotate` and `key:revoke`.
    package init(parameters json: JSONView) throws(SkyrowError) {
        let parameters = Parameters(json)
        guard let id = KeyID(try parameters.required("id", parameters.string("id"))) else {
            throw .invalidArgument("The id of a key must be k and eight lower-case letters and digits.", "id")
        }
        self = id
    }
}

extension JSONWriter {
    /// The parameters of `key:create`.
    package func keyCreateParameters(
        name: String,
        kind: String,
        scopes: [String],
        networks: [String],
        expiresAt: Timestamp?
    ) {
        beginObject()
        key("name")
        string(name)
        key("kind")
        string(kind)
        if !scopes.isEmpty {
            key("scopes")
            strings(scopes)
        }
        if !networks.isEmpty {
            key("networks")
            strings(networks)
        }
        if let expiresAt {
            key("expires_at")
            timestamp(expiresAt)
        }
        endObject()
    }

    /// The parameters of `key:rotate` and `key:revoke`.
    package func keyIDParameters(_ id: String, overlap: Duration? = nil) {
        beginObject()
        key("id")
        string(id)
        if let overlap {
            key("overlap")
            integer(overlap.components.seconds)
        }
        endObject()
    }

    /// The result of an action on keys.
    package func keys(_ result: KeyResult) {
        beginObject()
        switch result {
        case .issued(let issued):
            members(of: issued.key)
            key("key")
            string(issued.text)
        case .keys(let keys):
            key("keys")
            beginArray()
            for next in keys where refusal == nil {
                beginObject()
                members(of: next)
                endObject()
            }
            endArray()
        }
        endObject()
    }

    private func members(of stored: StoredKey) {
        key("id")
        string(stored.id.rawValue)
        key("name")
        string(stored.name)
        key("kind")
        string(stored.kind.rawValue)
        key("scopes")
        strings(stored.scopes.map(\.text))
        key("networks")
        strings(stored.networks.map(\.description))
        key("created_at")
        timestamp(stored.createdAt)
        if let expiresAt = stored.expiresAt {
            key("expires_at")
            timestamp(expiresAt)
        }
        if let revokedAt = stored.revokedAt {
            key("revoked_at")
            timestamp(revokedAt)
        }
        if let lastUsedAt = stored.lastUsedAt {
            key("last_used_at")
            timestamp(lastUsedAt)
        }
        if let previousUntil = stored.previousUntil {
            key("previous_until")
            timestamp(previousUntil)
        }
    }
}
