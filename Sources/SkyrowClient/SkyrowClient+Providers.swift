import SkyrowModel
import SkyrowProtocol

extension SkyrowClient {
    /// Logs in with the id token of a provider; the service creates the account on the first login.
    ///
    /// ```swift
    /// let account = try await client.logIn(provider: "google", idToken: token, nonce: nonce)
    /// if account.isNew { … }
    /// ```
    ///
    /// - Parameters:
    ///   - provider: the name of the provider in the settings of the service.
    ///   - idToken: the id token that the provider gave the application.
    ///   - nonce: the random text that the application sent to the provider for this sign-in.
    ///   - accessToken: the access token that came with the id token; the service then compares the two.
    ///   - device: the device of the session, by which the user recognises it.
    @discardableResult
    public func logIn(
        provider: String,
        idToken: String,
        nonce: String,
        accessToken: String? = nil,
        device: SessionDevice = SessionDevice()
    ) async throws(ClientError) -> Account {
        let token = ProviderToken(provider: provider, idToken: idToken, nonce: nonce, accessToken: accessToken)
        return try await logIn(Actions.authProviderLogIn, ProviderLogIn(token: token, device: device))
    }

    /// Logs in with a token that the application's own server has signed.
    @discardableResult
    public func logIn(
        customToken token: String,
        device: SessionDevice = SessionDevice()
    ) async throws(ClientError) -> Account {
        try await logIn(Actions.ssoCustomTokenLogIn, CustomTokenLogIn(token: token, device: device))
    }

    /// Links a provider to the logged-in user, who can then log in by it. An anonymous account becomes registered and keeps
    /// everything.
    ///
    /// - Parameters:
    ///   - provider: the name of the provider in the settings of the service.
    ///   - idToken: the id token that the provider gave the application.
    ///   - nonce: the random text that the application sent to the provider for this sign-in.
    ///   - accessToken: the access token that came with the id token; the service then compares the two.
    public func linkProvider(
        _ provider: String,
        idToken: String,
        nonce: String,
        accessToken: String? = nil
    ) async throws(ClientError) {
        let token = ProviderToken(provider: provider, idToken: idToken, nonce: nonce, accessToken: accessToken)
        try await call(Actions.authProviderLink, token)
    }

    /// Unlinks a provider from the logged-in user; refused when it is the user's only way to log in.
    public func unlinkProvider(_ provider: String) async throws(ClientError) {
        try await call(Actions.authProviderUnlink, provider)
    }

    /// Returns the providers by which the logged-in user can log in.
    public func identities() async throws(ClientError) -> [AccountIdentity] {
        try await call(Actions.authProviderList, ())
    }

    /// Starts a sign-in with a provider in the browser; open the address of the result there.
    ///
    /// ```swift
    /// let start = try await client.startProvider("google", redirect: "com.example.app:/in", codeChallenge: challenge)
    /// // The browser comes back to com.example.app:/in?code=…
    /// let account = try await client.finishProvider(code: code, codeVerifier: verifier)
    /// ```
    ///
    /// - Parameters:
    ///   - provider: the name of the provider in the settings of the service.
    ///   - redirect: the address to which the browser returns, one of those in the settings.
    ///   - codeChallenge: the SHA-256, in base64url, of a fresh random text of 43 to 128 characters.
    ///   - state: a text that is returned with the redirect.
    ///   - links: whether to link the provider to the logged-in user.
    ///   - stepsUp: whether the logged-in user proves their identity again.
    ///   - scopes: the scopes that this sign-in requests from the provider, besides those that every sign-in requests.
    public func startProvider(
        _ provider: String,
        redirect: String,
        codeChallenge: String,
        state: String? = nil,
        links: Bool = false,
        stepsUp: Bool = false,
        scopes: [String] = []
    ) async throws(ClientError) -> ProviderStart {
        let request = ProviderStartRequest(
            provider: provider,
            redirect: redirect,
            codeChallenge: codeChallenge,
            state: state,
            purpose: links ? .link : stepsUp ? .stepUp : .logIn,
            scopes: scopes
        )
        return try await call(Actions.authProviderStart, request)
    }

    /// Completes a sign-in in the browser with the code of the redirect, which is valid once and for a minute.
    ///
    /// - Parameters:
    ///   - code: the code that the redirect brought.
    ///   - codeVerifier: the text whose hash was given to
    ///     ``startProvider(_:redirect:codeChallenge:state:links:stepsUp:scopes:)``.
    ///   - device: the device of the session, by which the user recognises it.
    @discardableResult
    public func finishProvider(
        code: String,
        codeVerifier: String,
        device: SessionDevice = SessionDevice()
    ) async throws(ClientError) -> Account {
        try await logIn(
            Actions.authProviderFinish,
            ProviderFinishRequest(code: code, codeVerifier: codeVerifier, device: device)
        )
    }

    /// Returns the tokens that a provider issued for the logged-in user, when the service keeps them.
    public func tokens(of provider: String) async throws(ClientError) -> ProviderTokens {
        try await call(Actions.authProviderToken, provider)
    }
}
