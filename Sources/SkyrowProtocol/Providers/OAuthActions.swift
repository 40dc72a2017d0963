import SkyrowJSON
package import SkyrowModel

// Skygear's actions for a server of the application that talks to providers itself.

/// What a provider calls a user, according to the application's server.
package struct OAuthPrincipal: Hashable, Sendable {
    package var provider: String
    /// The provider's id of the user.
    package var id: String

    package init(provider: String, id: String) {
        self.provider = provider
        self.id = id
    }

    fileprivate static let form = Form(
        OAuthPrincipal.init(provider:id:),
        Member(\.provider, members: ProviderToken.providerForm(.oauthProvider)),
        Member("principal_id", \.id, .string(1...255), "The provider's id of the user.")
    )
}

/// What a provider gave and said, according to the application's server.
package struct OAuthResponse: Hashable, Sendable {
    /// The tokens, as an object.
    package var tokens: JSONText?
    /// The provider's data about the user, as an object.
    package var profile: JSONText

    package init(tokens: JSONText? = nil, profile: JSONText = JSONText(validated: Array("{}".utf8))) {
        self.tokens = tokens
        self.profile = profile
    }

    fileprivate static let form = Form(
        OAuthResponse.init(tokens:profile:),
        Member(
            optional: "token_response",
            \.tokens,
            .anyObject(atMost: 16_384),
            "The tokens that the provider issued, for `auth:provider:token`."
        ),
        Member(
            "provider_profile",
            \.profile,
            .anyObject(atMost: 16_384),
            "What the provider says about the user.",
            absent: OAuthResponse().profile
        )
    )
}

/// The user whom `sso:oauth:login` logs in.
package struct OAuthLogIn: Hashable, Sendable {
    package var principal: OAuthPrincipal
    package var response: OAuthResponse
    package var device: SessionDevice

    package init(
        _ principal: OAuthPrincipal,
        _ response: OAuthResponse = OAuthResponse(),
        device: SessionDevice = SessionDevice()
    ) {
        self.principal = principal
        self.response = response
        self.device = device
    }
}

/// The user whose account `sso:oauth:signup` creates.
package struct OAuthSignUp: Sendable {
    package var logIn: OAuthLogIn
    /// Further fields of the `user` record.
    package var profile: [(name: FieldName, value: RecordValue)]

    package init(_ logIn: OAuthLogIn, profile: [(name: FieldName, value: RecordValue)] = []) {
        self.logIn = logIn
        self.profile = profile
    }

    fileprivate static func form(_ rules: ReadingRules) -> Form<OAuthSignUp> {
        Form(
            { OAuthSignUp(OAuthLogIn($0, $1, device: $3), profile: $2 ?? []) },
            Member(\.logIn.principal, members: OAuthPrincipal.form),
            Member(\.logIn.response, members: OAuthResponse.form),
            .profile(\.profile.nonEmpty, rules),
            Member(\.logIn.device, members: SessionDevice.parameters)
        )
    }
}

/// The user with whom `sso:oauth:link` links an identity.
package struct OAuthLink: Hashable, Sendable {
    package var principal: OAuthPrincipal
    package var user: UserID
    package var response: OAuthResponse

    package init(_ principal: OAuthPrincipal, with user: UserID, _ response: OAuthResponse = OAuthResponse()) {
        self.principal = principal
        self.user = user
        self.response = response
    }

    fileprivate static let userForm = Form("user_id", .userID, "The id of the user.")
}

/// The provider that `sso:oauth:unlink` unlinks from a user.
package struct OAuthUnlink: Hashable, Sendable {
    package var provider: String
    package var user: UserID

    package init(provider: String, user: UserID) {
        self.provider = provider
        self.user = user
    }
}

extension Codec<String> {
    /// 1 to 64 bytes, and not the name of custom tokens.
    fileprivate static let oauthProvider: Codec = {
        let name = Codec.string(1...64)
        return Codec(name.shape) { json, argument throws(SkyrowError) in
            let text = try name.read(json, argument)
            guard text != AccountIdentity.customToken else {
                throw .invalidArgument("This name is reserved for custom tokens.", argument)
            }
            return text
        } write: { text, writer in
            writer.string(text)
        }
    }()
}

extension Actions {
    /// Logs in a user whom a provider has identified.
    package static let ssoOAuthLogIn = Action<OAuthLogIn, AuthResult>(
        "sso:oauth:login",
        "Logs in a user whom the application's server has identified with a provider.",
        requires: .master,
        cost: .write,
        errors: [.invalidCredentials, .userDisabled, .verificationRequired, .secondFactorRequired],
        Form(
            { OAuthLogIn($0, $1, device: $2) },
            Member(\.principal, members: OAuthPrincipal.form),
            Member(\.response, members: OAuthResponse.form),
            Member(\.device, members: SessionDevice.parameters)
        ),
        result: .authResult
    )

    /// Creates the account of a user whom a provider has identified.
    package static let ssoOAuthSignUp = Action<OAuthSignUp, AuthResult>(
        "sso:oauth:signup",
        "Creates the account of a user whom the application's server has identified with a provider, and logs in.",
        requires: .master,
        cost: .write,
        errors: [.incompatibleSchema],
        OAuthSignUp.form(.rpc),
        v1: OAuthSignUp.form(.v1),
        result: .authResult
    )

    /// Links an identity with a user.
    package static let ssoOAuthLink = Action<OAuthLink, Void>(
        "sso:oauth:link",
        "Links a user with the account of a provider that the application's server has identified.",
        requires: .master,
        cost: .write,
        errors: [.resourceNotFound],
        Form(
            { OAuthLink($0, with: $1, $2) },
            Member(\.principal, members: OAuthPrincipal.form),
            Member(\.user, members: OAuthLink.userForm),
            Member(\.response, members: OAuthResponse.form)
        ),
        result: .done
    )

    /// Unlinks a provider from a user.
    package static let ssoOAuthUnlink = Action<OAuthUnlink, Void>(
        "sso:oauth:unlink",
        "Unlinks a provider from a user; refused if the user has no other way to log in.",
        requires: .master,
        cost: .write,
        errors: [.resourceNotFound, .constraintViolated],
        Form(
            OAuthUnlink.init(provider:user:),
            Member(\.provider, members: ProviderToken.providerForm(.oauthProvider)),
            Member(\.user, members: OAuthLink.userForm)
        ),
        result: .done
    )
}
