package import SkyrowJSON
package import SkyrowModel

extension ProviderToken {
    /// Reads `auth:provider:link`, and what `auth:provider:login` has of it.
    package init(parameters json: JSONView) throws(SkyrowError) {
        let parameters = Parameters(json)
        self.init(
            provider: try ProviderToken.provider(json),
            idToken: try parameters.required("id_token", parameters.token("id_token", Self.maximumBytes)),
            nonce: try parameters.required("nonce", parameters.token("nonce", 255)),
            accessToken: try parameters.token("provider_access_token", Self.maximumBytes)
        )
    }

    /// `provider` of these and of `auth:provider:unlink`.
    package static func provider(_ json: JSONView) throws(SkyrowError) -> String {
        let parameters = Parameters(json)
        return try parameters.required("provider", parameters.token("provider", 255))
    }
}

extension ProviderLogInRequest {
    /// Reads `auth:provider:login`.
    package init(parameters json: JSONView) throws(SkyrowError) {
        self.init(token: try ProviderToken(parameters: json), device: try SessionDevice(Parameters(json)))
    }
}

extension CustomTokenRequest {
    /// Reads `sso:custom_token:login`.
    package init(parameters json: JSONView) throws(SkyrowError) {
        let parameters = Parameters(json)
        self.init(
            token: try parameters.required("token", parameters.token("token", Self.maximumBytes)),
            device: try SessionDevice(parameters)
        )
    }
}

extension Parameters {
    /// A text that is not empty, not longer than this many bytes, and has no NUL.
    func token(_ name: StaticString, _ maximum: Int) throws(SkyrowError) -> String? {
        guard let text = try string(name) else { return nil }
        guard (1...maximum).contains(text.utf8.count), !text.hasNUL else {
            throw .invalidArgument("\"\(name)\" must be 1 to \(maximum) bytes without NUL.", "\(name)")
        }
        return text
    }
}

extension JSONWriter {
    /// The result of `auth:provider:list`.
    package func identities(_ identities: [AccountIdentity]) {
        beginArray()
        for identity in identities {
            beginObject()
            key("provider")
            string(identity.provider)
            key("subject")
            string(identity.subject)
            key("profile")
            json(identity.profile)
            key("created_at")
            timestamp(identity.createdAt)
            if let lastUsedAt = identity.lastUsedAt {
                key("last_used_at")
                timestamp(lastUsedAt)
            }
            endObject()
        }
        endArray()
    }

    // MARK: The client's side

    /// The parameters of `auth:provider:link`, and with a device those of `auth:provider:login`.
    package func providerTokenParameters(_ token: ProviderToken, device: SessionDevice = SessionDevice()) {
        beginObject()
        key("provider")
        string(token.provider)
        key("id_token")
        string(token.idToken)
        key("nonce")
        string(token.nonce)
        if let accessToken = token.accessToken {
            key("provider_access_token")
            string(accessToken)
        }
        self.device(device)
        endObject()
    }

    /// The parameters of `auth:provider:unlink`.
    package func providerParameters(_ provider: String) {
        beginObject()
        key("provider")
        string(provider)
        endObject()
    }

    /// The parameters of `sso:custom_token:login`.
    package func customTokenParameters(_ request: CustomTokenRequest) {
        beginObject()
        key("token")
        string(request.token)
        device(request.device)
        endObject()
    }
}

extension AccountIdentity {
    /// Reads an element of the result of `auth:provider:list`.
    package init(result json: JSONView) throws(SkyrowError) {
        guard let provider = json["provider"]?.string, let subject = json["subject"]?.string,
            let profile = json["profile"], let created = json["created_at"]?.string
        else {
            throw SkyrowError(.badRequest, "An identity must have a provider, a subject, a profile and created_at.")
        }
        self.init(
            provider: provider,
            subject: subject,
            profile: profile.jsonText,
            createdAt: try Timestamp(rfc3339: created)
        )
        if let text = json["last_used_at"]?.string { lastUsedAt = try Timestamp(rfc3339: text) }
    }
}
