package import SkyrowModel
import SkyrowProtocol
import SkyrowStore

extension ActionTable {
    static let keys: [any AnyEntry] = [
        Entry(Actions.keyCreate, ActionService.createKey),
        Entry(Actions.keyList, ActionService.keys(_:_:)),
        Entry(Actions.keyRotate, ActionService.rotateKey),
        Entry(Actions.keyRevoke, ActionService.revokeKey),
    ]
}

extension ActionService {
    fileprivate func createKey(_ creation: KeyCreation, _ call: Call) async throws(SkyrowError) -> IssuedAccessKey {
        try requireMaster(call.caller)
        for case .action(let name) in creation.scopes where ActionTable[name] == nil { throw KeyScope.unknown }
        var generator = SystemRandomNumberGenerator()
        let id = KeyID(using: &generator)
        let text = KeyText.random(id, of: application)
        let key = try await store.keys.insert(
            creation,
            id: id,
            hash: TokenHash(of: text.text).bytes,
            recording: call.audit(.keyCreate, of: id)
        )
        await applyKeys()
        return IssuedAccessKey(AccessKey(key), text: text.text)
    }

    fileprivate func keys(_: Void, _ call: Call) async throws(SkyrowError) -> [AccessKey] {
        try requireMaster(call.caller)
        return try await store.keys.list().map { AccessKey($0) }
    }

    fileprivate func rotateKey(_ rotation: KeyRotation, _ call: Call) async throws(SkyrowError) -> IssuedAccessKey {
        try requireMaster(call.caller)
        let text = KeyText.random(rotation.id, of: application)
        let key = try await store.keys.rotate(
            rotation,
            hash: TokenHash(of: text.text).bytes,
            recording: call.audit(.keyRotate, of: rotation.id)
        )
        await applyKeys()
        return IssuedAccessKey(AccessKey(key), text: text.text)
    }

    fileprivate func revokeKey(_ id: KeyID, _ call: Call) async throws(SkyrowError) {
        try requireMaster(call.caller)
        try await store.keys.revoke(id, recording: call.audit(.keyRevoke, of: id))
        await applyKeys()
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
            audit(AuditEvent(.key, refusal: .accessKeyNotAccepted, by: .unknown, from: origin, key: key.grant.id))
        case .api, .neither: return
        }
    }
}

extension KeyText {
    /// Returns a text with 256 random bits, of which the database gets only the hash.
    static func random(_ id: KeyID, of application: ApplicationName) -> KeyText {
        var generator = SystemRandomNumberGenerator()
        return KeyText(id, secret: RandomText.letters(secretLength, using: &generator), of: application)
    }
}
