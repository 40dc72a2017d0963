package import SkyrowModel
package import SkyrowStore

extension ActionService {
    /// `key:create`; only its response has the text of the key.
    package func createKey(
        _ request: KeyCreateRequest,
        by caller: Caller,
        origin: RequestOrigin = RequestOrigin()
    ) async throws(SkyrowError) -> IssuedKey {
        try await observed(.keyCreate) { () async throws(SkyrowError) in
            try requireMaster(caller)
            let issued = try await store.issueKey(request, of: application, by: AuditEvent.Actor(caller), from: origin)
            await applyKeys()
            return issued
        }
    }

    /// `key:list`
    package func keys(by caller: Caller) async throws(SkyrowError) -> [StoredKey] {
        try await observed(.keyList) { () async throws(SkyrowError) in
            try requireMaster(caller)
            return try await store.keys.list()
        }
    }

    /// `key:rotate`
    package func rotateKey(
        _ request: KeyRotateRequest,
        by caller: Caller,
        origin: RequestOrigin = RequestOrigin()
    ) async throws(SkyrowError) -> IssuedKey {
        try await observed(.keyRotate) { () async throws(SkyrowError) in
            try requireMaster(caller)
            let issued = try await store.rotateKey(request, of: application, by: AuditEvent.Actor(caller), from: origin)
            await applyKeys()
            return issued
        }
    }

    /// `key:revoke`
    package func revokeKey(
        _ id: KeyID,
        by caller: Caller,
        origin: RequestOrigin = RequestOrigin()
    ) async throws(SkyrowError) {
        try await observed(.keyRevoke) { () async throws(SkyrowError) in
            try requireMaster(caller)
            try await store.keys.revoke(
                id,
                recording: AuditEvent(.keyRevoke, by: AuditEvent.Actor(caller), from: origin, key: id)
            )
            await applyKeys()
        }
    }

    /// Applies a change in this process before the response.
    private func applyKeys() async {
        forgetKeys()
        // If the database is unavailable, the next request with a key reads them again.
        try? await loadKeys()
    }

    private func requireMaster(_ caller: Caller) throws(SkyrowError) {
        guard caller.isMaster else { throw CredentialCheck.masterNeeded }
    }

    /// Audits the use of a key that is not valid: the key has leaked, or its owner does not know that it has ended.
    package func auditRefusedKey(_ credentials: Credentials, from origin: RequestOrigin) {
        guard let text = credentials.key else { return }
        switch kind(of: text) {
        case .master:
            guard !credentials.admitsMasterKey else { return }
            audit(AuditEvent(.master, refusal: .accessKeyNotAccepted, by: .unknown, from: origin))
        case .held(let key, let isPrevious):
            let now = clock.now()
            guard !key.counts(isPrevious: isPrevious, from: credentials.address, at: now), key.notesRefusal(at: now)
            else { return }
            audit(
                AuditEvent(.key, refusal: .accessKeyNotAccepted, by: .unknown, from: origin, key: key.grant.id)
            )
        case .api, .neither: return
        }
    }
}

extension RecordStore {
    /// Creates a key of an application.
    package func issueKey(
        _ request: KeyCreateRequest,
        of application: ApplicationName,
        by actor: AuditEvent.Actor,
        from origin: RequestOrigin = RequestOrigin()
    ) async throws(SkyrowError) -> IssuedKey {
        var generator = SystemRandomNumberGenerator()
        let id = KeyID(using: &generator)
        let text = KeyText.random(id, of: application)
        let key = try await keys.insert(
            request,
            id: id,
            hash: TokenHash(of: text.text).bytes,
            recording: AuditEvent(.keyCreate, by: actor, from: origin, key: id)
        )
        return IssuedKey(key, text: text.text)
    }

    /// Gives a key of an application another text.
    package func rotateKey(
        _ request: KeyRotateRequest,
        of application: ApplicationName,
        by actor: AuditEvent.Actor,
        from origin: RequestOrigin = RequestOrigin()
    ) async throws(SkyrowError) -> IssuedKey {
        let text = KeyText.random(request.id, of: application)
        let key = try await keys.rotate(
            request,
            hash: TokenHash(of: text.text).bytes,
            recording: AuditEvent(.keyRotate, by: actor, from: origin, key: request.id)
        )
        return IssuedKey(key, text: text.text)
    }
}

extension KeyText {
    /// Returns a text with 256 random bits, of which the database gets only the hash.
    static func random(_ id: KeyID, of application: ApplicationName) -> KeyText {
        var generator = SystemRandomNumberGenerator()
        return KeyText(id, secret: RandomText.letters(secretLength, using: &generator), of: application)
    }
}
