package import SkyrowJSON
package import SkyrowModel

extension ProviderStartRequest {
    /// Reads `auth:provider:start`.
    package init(parameters json: JSONView) throws(SkyrowError) {
        let parameters = Parameters(json)
        let challenge = try parameters.required("code_challenge", parameters.string("code_challenge"))
        guard challenge.utf8.count == Self.challengeLength, Base64URL.decode(challenge)?.count == 32 else {
            throw .invalidArgument(
                "\"code_challenge\" must be the SHA-256 of the code_verifier in base64url, 43 characters.",
                "code_challenge"
            )
        }
        let links = try parameters.boolean("link") ?? false
        let proves = try parameters.boolean("stepup") ?? false
        guard !links || !proves else { throw .invalidArgument("Send either \"link\" or \"stepup\".", "link", "stepup") }
        let scopes = try parameters.names("scopes") ?? []
        guard scopes.count <= Self.maximumScopes else {
            throw .invalidArgument("A sign-in can request at most \(Self.maximumScopes) scopes.", "scopes")
        }
        self.init(
            provider: try ProviderToken.provider(json),
            redirect: try parameters.required(
                "redirect",
                parameters.token("redirect", ProviderStartRequest.maximumRedirectBytes)
            ),
            codeChallenge: challenge,
            state: try parameters.token("state", 255),
            purpose: links ? .link : proves ? .stepUp : .logIn,
            scopes: scopes
        )
    }
}

extension ProviderFinishRequest {
    /// Reads `auth:provider:finish`.
    package init(parameters json: JSONView) throws(SkyrowError) {
        let parameters = Parameters(json)
        let verifier = try parameters.required("code_verifier", parameters.string("code_verifier"))
        guard Self.verifierLength.contains(verifier.utf8.count), verifier.utf8.allSatisfy(Self.isUnreserved) else {
            throw .invalidArgument(
                "\"code_verifier\" must be 43 to 128 letters, digits and characters of \"-._~\".",
                "code_verifier"
            )
        }
        self.init(
            code: try parameters.required("code", parameters.token("code", 255)),
            codeVerifier: verifier,
            device: try SessionDevice(parameters)
        )
    }

    private static func isUnreserved(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
            UInt8(ascii: "~"):
            true
        default: false
        }
    }
}

extension OAuthIdentityRequest {
    /// Reads `sso:oauth:login`, `sso:oauth:signup` and `sso:oauth:link`.
    ///
    /// - Parameter linksUser: whether a user is named.
    package init(
        parameters json: JSONView,
        rules: ReadingRules = .rpc,
        linksUser: Bool = false
    ) throws(SkyrowError) {
        let parameters = Parameters(json)
        let principal = try parameters.required("principal_id", parameters.string("principal_id"))
        guard principal.isName else {
            throw .invalidArgument("\"principal_id\" must be 1 to 255 bytes without NUL.", "principal_id")
        }
        var fields: [(name: FieldName, value: RecordValue)] = []
        if !linksUser, let profile = try parameters.object("profile") {
            fields = try ProfileFields.read(profile, rules: rules)
        }
        self.init(
            provider: try Self.provider(parameters),
            principalID: principal,
            tokenResponse: try Self.object("token_response", of: parameters),
            providerProfile: try Self.object("provider_profile", of: parameters)
                ?? JSONText(validated: Array("{}".utf8)),
            user: linksUser ? try Self.user(parameters) : nil,
            profile: fields,
            device: try SessionDevice(parameters)
        )
    }

    /// Reads `sso:oauth:unlink`.
    package static func link(parameters json: JSONView) throws(SkyrowError) -> (provider: String, user: UserID) {
        let parameters = Parameters(json)
        return (try provider(parameters), try user(parameters))
    }

    private static func provider(_ parameters: Parameters) throws(SkyrowError) -> String {
        let name = try parameters.required("provider", parameters.token("provider", maximumNameBytes))
        guard name != AccountIdentity.customToken else {
            throw .invalidArgument("This name is reserved for custom tokens.", "provider")
        }
        return name
    }

    private static func user(_ parameters: Parameters) throws(SkyrowError) -> UserID {
        try parameters.required("user_id", parameters.userID("user_id"))
    }

    private static func object(_ name: StaticString, of parameters: Parameters) throws(SkyrowError) -> JSONText? {
        guard let object = try parameters.object(name) else { return nil }
        guard object.source.count <= maximumBytes else {
            throw .invalidArgument("\"\(name)\" must be at most \(maximumBytes) bytes of JSON.", "\(name)")
        }
        return object.jsonText
    }
}

extension JSONWriter {
    /// The result of `auth:provider:start`.
    package func providerStart(_ start: ProviderStart) {
        beginObject()
        key("url")
        string(start.url)
        key("expires_at")
        timestamp(start.expiresAt)
        endObject()
    }

    /// The result of `auth:provider:token`.
    package func providerTokens(_ tokens: ProviderTokens) {
        beginObject()
        key("provider")
        string(tokens.provider)
        key("subject")
        string(tokens.subject)
        key("token")
        json(tokens.response)
        key("received_at")
        timestamp(tokens.receivedAt)
        endObject()
    }

    // MARK: The client's side

    /// The parameters of `auth:provider:start`.
    package func providerStartParameters(_ request: ProviderStartRequest) {
        beginObject()
        key("provider")
        string(request.provider)
        key("redirect")
        string(request.redirect)
        key("code_challenge")
        string(request.codeChallenge)
        if let state = request.state {
            key("state")
            string(state)
        }
        if !request.scopes.isEmpty {
            key("scopes")
            strings(request.scopes)
        }
        switch request.purpose {
        case .logIn: break
        case .link:
            key("link")
            boolean(true)
        case .stepUp:
            key("stepup")
            boolean(true)
        }
        endObject()
    }

    /// The parameters of `auth:provider:finish`.
    package func providerFinishParameters(_ request: ProviderFinishRequest) {
        beginObject()
        key("code")
        string(request.code)
        key("code_verifier")
        string(request.codeVerifier)
        device(request.device)
        endObject()
    }
}

extension ProviderStart {
    /// Reads the result of `auth:provider:start`.
    package init(result json: JSONView) throws(SkyrowError) {
        guard let url = json["url"]?.string, let end = json["expires_at"]?.string else {
            throw SkyrowError(.badRequest, "A pending sign-in must have a url and expires_at.")
        }
        self.init(url: url, expiresAt: try Timestamp(rfc3339: end))
    }
}

extension ProviderTokens {
    /// Reads the result of `auth:provider:token`.
    package init(result json: JSONView) throws(SkyrowError) {
        guard let provider = json["provider"]?.string, let subject = json["subject"]?.string,
            let token = json["token"], token.isObject, let received = json["received_at"]?.string
        else { throw SkyrowError(.badRequest, "Tokens must have a provider, a subject, a token and received_at.") }
        self.init(
            provider: provider,
            subject: subject,
            response: token.jsonText,
            receivedAt: try Timestamp(rfc3339: received)
        )
    }
}
