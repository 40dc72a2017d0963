package import SkyrowModel
import Synchronization

/// The state of credentials as known at once, regardless of the action and without the database.
package enum CredentialStanding: Hashable, Sendable {
    /// A key of this service, or the token of a cached session.
    case accepted
    /// A token that only the database can verify.
    case unverified
    /// Nothing, or a key that is not one of this service.
    case missing
}

extension ActionService {
    package func standing(of credentials: Credentials) -> CredentialStanding {
        if let key = credentials.key, !key.isEmpty {
            if needsKeys(for: credentials) { return .unverified }
            switch kind(of: key) {
            case .neither: return .missing
            case .master: return credentials.admitsMasterKey ? .accepted : .missing
            case .api: return .accepted
            case .held(let held, let isPrevious):
                // The client's address is checked after the body has arrived.
                return held.holds(isPrevious: isPrevious, at: clock.now()) ? .accepted : .missing
            }
        }
        guard let token = credentials.accessToken, !token.isEmpty else { return .missing }
        let now = clock.instant()
        let session = sessions.withLock { $0.session(TokenHash(of: token), at: now) }
        return session == nil ? .unverified : .accepted
    }
}

extension SkyrowError {
    package static let keyNotAccepted = SkyrowError(.accessKeyNotAccepted, "The API key is not valid.")
}
