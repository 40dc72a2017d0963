import SkyrowCrypto
import SkyrowModel

/// The claim of a request on an idempotency key of its caller.
struct IdempotencyClaim: Sendable, Equatable {
    /// The caller; equal keys of other callers are distinct.
    let scope: String
    let key: String
    /// SHA-256 of the request: a key with another request is a client error.
    let fingerprint: [UInt8]

    /// nil without a key.
    ///
    /// - Parameter request: the request's canonical text.
    init?(key: String?, action: ActionName, database: DatabaseName, isAtomic: Bool, request: [UInt8], caller: Caller) {
        guard let key else { return nil }
        self.key = key
        // API keys may differ in what they can see of a result.
        let keyScope =
            caller.key.map { "_key:\($0.id):" }
            ?? caller.keyName.map { "_name:\($0.rawValue.utf8.count):\($0.rawValue):" }
        scope = (keyScope ?? "") + IdempotencyClaim.scope(of: caller)
        var hash = SHA256()
        // Each part ends in a byte that it cannot contain, so that different lists of parts have different texts.
        for part in [action.rawValue, "\(isAtomic)", IdempotencyClaim.text(of: database)] {
            hash.update(Array(part.utf8) + [0])
        }
        hash.update(request)
        fingerprint = hash.finish().bytes
    }

    /// User ids do not begin with an underscore, so no user has the scope of the master key.
    private static func scope(of caller: Caller) -> String {
        switch caller.kind {
        case .anonymous: "_anonymous"
        case .user(let user): user.rawValue
        case .master(nil): "_master"
        case .master(let user?): "_master:\(user)"
        }
    }

    private static func text(of database: DatabaseName) -> String {
        switch database {
        case .everyone: "_public"
        case .own: "_private"
        case .user(let user): user.rawValue
        case .union: "_union"
        }
    }
}
