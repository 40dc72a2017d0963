import SkyrowCrypto
import SkyrowModel
import SkyrowStore

/// The keys of an application: those from its configuration, those whose hashes are in the registry of applications, and those
/// with scopes.
final class AccessKeys: Sendable {
    enum Kind: Equatable {
        case api
        case master
        /// A key with scopes, which may have expired or been revoked.
        case held(HeldKey, isPrevious: Bool)
        case neither
    }

    struct Stored: Hashable {
        let kind: ApplicationKey.Kind
        /// nil means never.
        let expiresAt: Timestamp?
    }

    private let given: GivenKeys?
    /// The keys have 256 random bits each, so that a lookup by hash reveals nothing (``TokenHash``).
    private let stored: [TokenHash: Stored]
    /// The keys with scopes.
    let held: HeldKeys

    private init(given: GivenKeys?, stored: [TokenHash: Stored], held: HeldKeys) {
        self.given = given
        self.stored = stored
        self.held = held
    }

    convenience init(given: GivenKeys?, stored: [ApplicationKey] = []) {
        self.init(given: given, stored: AccessKeys.byHash(stored), held: .none)
    }

    private static func byHash(_ keys: [ApplicationKey]) -> [TokenHash: Stored] {
        let pairs = keys.compactMap { key in
            TokenHash(bytes: key.hash).map { ($0, Stored(kind: key.kind, expiresAt: key.expiresAt)) }
        }
        return Dictionary(pairs) { first, _ in first }
    }

    /// Returns a copy with other keys of the registry.
    func storing(_ keys: [ApplicationKey]) -> AccessKeys {
        AccessKeys(given: given, stored: AccessKeys.byHash(keys), held: held)
    }

    /// Returns a copy with other keys with scopes.
    func holding(_ held: HeldKeys) -> AccessKeys {
        AccessKeys(given: given, stored: stored, held: held)
    }

    /// Hashes the candidate once and compares it with all configured keys, so that the time taken reveals nothing.
    ///
    /// - Parameter now: the time for expiry.
    func kind(of candidate: String, at now: @autoclosure () -> Timestamp) -> Kind {
        let digest = SHA256.hash(of: candidate)
        if let given {
            var isMaster = false
            var isAPI = false
            for key in given.master { if key.matches(digest) { isMaster = true } }
            for key in given.api { if key.matches(digest) { isAPI = true } }
            if isMaster { return .master }
            if isAPI { return .api }
        }
        let hash = TokenHash(digest)
        if let (key, isPrevious) = held[hash] { return .held(key, isPrevious: isPrevious) }
        guard let key = stored[hash] else { return .neither }
        if let end = key.expiresAt, end <= now() { return .neither }
        switch key.kind {
        case .api: return .api
        case .master: return .master
        }
    }
}
