import SkyrowJSON
import SkyrowModel
import SkyrowWire

extension SkyrowClient {
    /// Logs in with the id token of a provider; the service makes the account where there is none yet.
    ///
    /// ```swift
    /// let account = try await client.logIn(provider: "google", idToken: token, nonce: nonce)
    /// if account.isNew { … }
    /// ```
    ///
    /// - Parameters:
    ///   - provider: its name in the settings of the service.
    ///   - idToken: what the provider gave the application.
    ///   - nonce: what the application drew for this sign-in and sent to the provider.
    ///   - accessToken: what came with the id token, to have both compared.
    ///   - device: by which the user recognises the session.
    @discardableResult
    public func logIn(
        provider: String,
        idToken: String,
        nonce: String,
        accessToken: String? = nil,
        device: SessionDevice = SessionDevice()
    ) async throws(ClientError) -> Account {
        let token = ProviderToken(provider: provider, idToken: idToken, nonce: nonce, accessToken: accessToken)
        return try await logIn(.authProviderLogIn) { $0.providerTokenParameters(token, device: device) }
    }

    /// Logs in with a token that a server of the application's own has signed.
    @discardableResult
    public func logIn(
        customToken token: String,
        device: SessionDevice = SessionDevice()
    ) async throws(ClientError) -> Account {
        let request = CustomTokenRequest(token: token, device: device)
        return try await logIn(.ssoCustomTokenLogIn) { $0.customTokenParameters(request) }
    }

    /// Lets the logged-in user log in by a provider too. An anonymous account keeps everything and is registered from then on.
    ///
    /// - Parameters:
    ///   - provider: its name in the settings of the service.
    ///   - idToken: what the provider gave the application.
    ///   - nonce: what the application drew for this sign-in and sent to the provider.
    ///   - accessToken: what came with the id token, to have both compared.
    public func linkProvider(
        _ provider: String,
        idToken: String,
        nonce: String,
        accessToken: String? = nil
    ) async throws(ClientError) {
        let token = ProviderToken(provider: provider, idToken: idToken, nonce: nonce, accessToken: accessToken)
        // A token counts once, so that a second call would fail where the first one has not.
        try await call(.authProviderLink) {
            $0.providerTokenParameters(token)
        } read: { _ throws(SkyrowError) in
        }
    }

    /// Lets the logged-in user log in by a provider no more; refused where there is no other way.
    public func unlinkProvider(_ provider: String) async throws(ClientError) {
        try await call(.authProviderUnlink) {
            $0.providerParameters(provider)
        } read: { _ throws(SkyrowError) in
        }
    }

    /// By which providers the logged-in user logs in.
    public func identities() async throws(ClientError) -> [AccountIdentity] {
        try await call(.authProviderList) { json throws(SkyrowError) in
            var identities: [AccountIdentity] = []
            for element in json.elements { identities.append(try AccountIdentity(result: element)) }
            return identities
        }
    }

    /// Begins a sign-in with a provider by way of the browser; open the address of the result there.
    ///
    /// ```swift
    /// let start = try await client.startProvider("google", redirect: "com.example.app:/in", codeChallenge: challenge)
    /// // The browser comes back to com.example.app:/in?code=…
    /// let account = try await client.finishProvider(code: code, codeVerifier: verifier)
    /// ```
    ///
    /// - Parameters:
    ///   - provider: its name in the settings of the service.
    ///   - redirect: where the user goes back to, one of the addresses in these settings.
    ///   - codeChallenge: the SHA-256, in base64url, of a fresh random text of 43 to 128 characters.
    ///   - state: what comes back with the user.
    ///   - links: whether the logged-in user is to log in by the provider too.
    ///   - stepsUp: whether the logged-in user proves once more who they are.
    ///   - scopes: what this sign-in asks the provider for beside what each one does.
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
        return try await call(.authProviderStart) {
            $0.providerStartParameters(request)
        } read: { json throws(SkyrowError) in
            try ProviderStart(result: json)
        }
    }

    /// Ends a sign-in by way of the browser with the code that came back, which counts once and for a minute.
    ///
    /// - Parameters:
    ///   - code: what the redirect of the provider's page has brought.
    ///   - codeVerifier: that of which ``startProvider(_:redirect:codeChallenge:state:links:stepsUp:scopes:)`` had the hash.
    ///   - device: by which the user recognises the session.
    @discardableResult
    public func finishProvider(
        code: String,
        codeVerifier: String,
        device: SessionDevice = SessionDevice()
    ) async throws(ClientError) -> Account {
        let request = ProviderFinishRequest(code: code, codeVerifier: codeVerifier, device: device)
        return try await logIn(.authProviderFinish) { $0.providerFinishParameters(request) }
    }

    /// The tokens that a provider gave for the logged-in user, where the service keeps them.
    public func tokens(of provider: String) async throws(ClientError) -> ProviderTokens {
        try await call(.authProviderToken) {
            $0.providerParameters(provider)
        } read: { json throws(SkyrowError) in
            try ProviderTokens(result: json)
        }
    }
}
