import SkyrowCrypto
import SkyrowModel
import SkyrowStore

/// The keys of an application: the two that its service was given, and those that its database has the hashes of.
final class AccessKeys: Sendable {
    enum Kind: Equatable {
        case api
        case master
        case neither
    }

    struct Stored: Hashable {
        let kind: ApplicationKey.Kind
        /// nil is never.
        let expiresAt: Timestamp?
    }

    private let given: (api: Secret, master: Secret)?
    /// Made of 256 random bits each, so that a look-up by the hash reveals nothing (``TokenHash``).
    private let stored: [TokenHash: Stored]

    init(given: (api: Secret, master: Secret)?, stored: [ApplicationKey] = []) {
        self.given = given
        let pairs = stored.compactMap { key in
            TokenHash(bytes: key.hash).map { ($0, Stored(kind: key.kind, expiresAt: key.expiresAt)) }
        }
        self.stored = Dictionary(pairs) { first, _ in first }
    }

    convenience init(api: Secret, master: Secret) {
        self.init(given: (api, master))
    }

    /// The same with other keys of the database.
    func storing(_ keys: [ApplicationKey]) -> AccessKeys {
        AccessKeys(given: given, stored: keys)
    }

    /// Hashes the candidate once and compares it with both given keys, whichever it is, so that the time taken reveals
    /// nothing.
    ///
    /// - Parameter now: decides about expiry.
    func kind(of candidate: String, at now: @autoclosure () -> Timestamp) -> Kind {
        let digest = SHA256.hash(of: candidate)
        if let given {
            let isMaster = given.master.matches(digest)
            let isAPI = given.api.matches(digest)
            if isMaster { return .master }
            if isAPI { return .api }
        }
        guard !stored.isEmpty, let key = stored[TokenHash(digest)] else { return .neither }
        if let end = key.expiresAt, end <= now() { return .neither }
        switch key.kind {
        case .api: return .api
        case .master: return .master
        }
    }
}
