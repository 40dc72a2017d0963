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
}
