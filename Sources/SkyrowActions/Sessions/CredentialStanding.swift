package import SkyrowModel
import Synchronization

/// What can be said about credentials at once, without a look at what is asked and without the database.
package enum CredentialStanding: Hashable, Sendable {
    /// There is a key of this service, or the token of a session that is remembered.
    case accepted
    /// There is a token, of which only the database could say more.
    case unverified
    /// There is nothing, or a key that is not one of this service.
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
                // From where it comes is looked at when the body is there.
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
    package static let keyNotAccepted = SkyrowError(.accessKeyNotAccepted, "The API key is not one of this service.")
}
