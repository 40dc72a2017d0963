import SkyrowJSON
import SkyrowModel
import SkyrowProtocol
import SkyrowStore

// Skygear's building blocks for a server of the application that talks to providers itself. All of them need the master key.

extension ActionService {
    /// A second factor is required as in any login.
    ///
    /// Throws `105 InvalidCredentials` if no account is linked with the identity.
    func logInOAuth(_ logIn: OAuthLogIn, _ call: Call) async throws(SkyrowError) -> AuthResult {
        try await loggingIn(by: .oauth) { () async throws(SkyrowError) in
            try await self.logIn(IdentityLogIn(logIn, call)).ofSkygear
        }
    }

    /// Login keys in the profile are ignored.
    ///
    /// Throws `108 InvalidArgument` if an account is linked with the identity.
    func signUpOAuth(_ signUp: OAuthSignUp, _ call: Call) async throws(SkyrowError) -> AuthResult {
        var logIn = IdentityLogIn(signUp.logIn, call)
        logIn.profile = mergeable(signUp.profile)
        do throws(SkyrowError) {
            return try await self.signUp(logIn).ofSkygear
        } catch {
            throw error == .identityTaken ? .alreadyConnected : error
        }
    }

    /// Throws `108 InvalidArgument` if an account is linked with the identity, or the user with another one of the provider, and
    /// `110 ResourceNotFound` for an unknown user.
    func linkOAuth(_ link: OAuthLink, _ call: Call) async throws(SkyrowError) {
        let identity = try await store.identities.sealing(
            link.response.tokens,
            of: ProvenIdentity(link.principal, link.response),
            for: link.user
        )
        let isNew: Bool
        do throws(SkyrowError) {
            isNew = try await self.link(identity, with: link.user, session: nil, call)
        } catch {
            throw error.code == .duplicated ? .alreadyConnected : error
        }
        guard isNew else { throw .alreadyConnected }
    }

    /// Throws `110 ResourceNotFound` without such a link, and `113 ConstraintViolated` if it is the only way to log in.
    func unlinkOAuth(_ unlink: OAuthUnlink, _ call: Call) async throws(SkyrowError) {
        try await self.unlink(unlink.provider, from: unlink.user, session: nil, call)
    }
}

extension IdentityLogIn {
    fileprivate init(_ logIn: OAuthLogIn, _ call: Call) {
        self.init(ProvenIdentity(logIn.principal, logIn.response), logIn.device, call, tokens: logIn.response.tokens)
    }
}

extension ProvenIdentity {
    fileprivate init(_ principal: OAuthPrincipal, _ response: OAuthResponse) {
        self.init(
            provider: principal.provider,
            subject: principal.id,
            profile: ProviderProfile.bounded(response.profile)
        )
    }
}

extension AuthResult {
    /// The result without `is_new`, which Skygear's has not.
    fileprivate var ofSkygear: AuthResult {
        var result = self
        result.isNew = nil
        return result
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
