import SkyrowJSON
package import SkyrowModel
import SkyrowStore

// Skygear's building blocks for a server of the application that talks to providers itself. All of them need the master key.

extension ActionService {
    /// `sso:oauth:login`: logs in the user of an identity; a second factor is required as in any login.
    ///
    /// Throws `105 InvalidCredentials` if no account is linked with it.
    package func logInOAuth(
        _ request: OAuthIdentityRequest,
        origin: RequestOrigin = RequestOrigin()
    ) async throws(SkyrowError) -> AuthResult {
        try await observed(.ssoOAuthLogIn, as: .oauth) { () async throws(SkyrowError) in
            var result = try await logIn(
                request.identity,
                Opening(.provider, provider: request.provider, device: request.device, origin: origin),
                makesAccounts: false,
                tokens: request.tokenResponse
            )
            // Skygear's result has no such member.
            result.isNew = nil
            return result
        }
    }

    /// `sso:oauth:signup`: creates the account of an identity and logs in; login keys in the profile are ignored.
    ///
    /// Throws `108 InvalidArgument` if an account is linked with it.
    package func signUpOAuth(
        _ request: OAuthIdentityRequest,
        origin: RequestOrigin = RequestOrigin()
    ) async throws(SkyrowError) -> AuthResult {
        try await observed(.ssoOAuthSignUp) { () async throws(SkyrowError) in
            let opening = Opening(.provider, provider: request.provider, device: request.device, origin: origin)
            do throws(SkyrowError) {
                var result = try await signUp(
                    request.identity,
                    opening,
                    profile: mergeable(request.profile),
                    tokens: request.tokenResponse
                )
                result.isNew = nil
                return result
            } catch {
                throw error == .identityTaken ? .alreadyConnected : error
            }
        }
    }

    /// `sso:oauth:link`: links an identity with a user, who can log in with it.
    ///
    /// Throws `108 InvalidArgument` if an account is linked with it, or the user with another one of the provider, and `110
    /// ResourceNotFound` for an unknown user.
    package func linkOAuth(
        _ request: OAuthIdentityRequest,
        with user: UserID,
        by caller: Caller,
        origin: RequestOrigin = RequestOrigin()
    ) async throws(SkyrowError) {
        try await observed(.ssoOAuthLink) { () async throws(SkyrowError) in
            defer { forget(.user(user)) }
            let identity = try await store.identities.sealing(request.tokenResponse, of: request.identity, for: user)
            let outcome = try await store.identities.link(
                identity,
                with: user,
                session: nil,
                recording: AuditEvent(.providerLink, by: AuditEvent.Actor(caller), from: origin)
            )
            switch outcome {
            case .linked: return
            case .unchanged, .taken, .providerTaken: throw .alreadyConnected
            case .tooMany:
                throw .invalidArgument(
                    "An account can be linked with at most \(AccountIdentity.maximumCount) providers.",
                    "provider"
                )
            case .ended: throw .userNotFound
            }
        }
    }

    /// `sso:oauth:unlink`: removes the link of a user with a provider.
    ///
    /// Throws `110 ResourceNotFound` without such a link, and `113 ConstraintViolated` if it is the only way to log in.
    package func unlinkOAuth(
        _ provider: String,
        from user: UserID,
        by caller: Caller,
        origin: RequestOrigin = RequestOrigin()
    ) async throws(SkyrowError) {
        try await observed(.ssoOAuthUnlink) { () async throws(SkyrowError) in
            try await unlink(provider, from: user, session: nil, by: caller, origin: origin)
        }
    }
}

extension OAuthIdentityRequest {
    fileprivate var identity: ProvenIdentity {
        ProvenIdentity(provider: provider, subject: principalID, profile: ProviderProfile.bounded(providerProfile))
    }
}

/// The stored part of a provider's description of a user.
enum ProviderProfile {
    /// Upper bound on the bytes that are stored unchanged; as `jsonb` they take at most four times as much.
    private static let maximumBytes = 4000

    /// Returns a small object unchanged; of a larger one the claims by which people recognise their account.
    static func bounded(_ profile: JSONText) -> JSONText {
        guard profile.utf8.count > maximumBytes, let json = try? JSONDocument(profile.utf8) else { return profile }
        return json.withRoot(IDTokenClaims.profile)
    }
}

extension SkyrowError {
    fileprivate static let alreadyConnected = SkyrowError.invalidArgument(
        "Another account is linked with this sign-in, or the user is linked with another sign-in of the provider.",
        "principal_id"
    )
}
