import SkyrowJSON
package import SkyrowModel

/// What a client sends for a login by a provider of a function server, in the envelope of Skygear v1.
package struct FunctionProviderLogIn: Sendable {
    package var provider: String
    /// An object, which only the provider understands.
    package var authData: JSONText
    package var device: SessionDevice

    package init(provider: String, authData: JSONText, device: SessionDevice) {
        self.provider = provider
        self.authData = authData
        self.device = device
    }
}

/// What `auth:signup` makes an account of: without login data and password, an anonymous one.
package struct SignUpRequest: Sendable {
    /// Login keys and their values, `["username": "ann"]`.
    package var authData: [String: String]
    package var password: String?
    /// Further fields of the `user` record.
    package var profile: [(name: FieldName, value: RecordValue)]
    package var device: SessionDevice
    /// The login by a provider of a function server, which takes the place of all else.
    package var provider: FunctionProviderLogIn?

    package init(
        authData: [String: String] = [:],
        password: String? = nil,
        profile: [(name: FieldName, value: RecordValue)] = [],
        device: SessionDevice = SessionDevice()
    ) {
        self.authData = authData
        self.password = password
        self.profile = profile
        self.device = device
    }

    fileprivate static func form(_ rules: ReadingRules) -> Form<SignUpRequest> {
        Form(
            { SignUpRequest(authData: $0, password: $1, profile: $2 ?? [], device: $3) },
            Member(
                "auth_data",
                \.authData,
                .loginKeys,
                "One or more complete login keys with their values; absent for an anonymous account.",
                absent: [:]
            ),
            Member(optional: "password", \.password, .secret, "The password; absent for an anonymous account."),
            .profile(\.profile.nonEmpty, rules),
            Member(\.device, members: SessionDevice.parameters)
        )
    }
}

/// The account that `auth:login` logs in to.
package struct LogInRequest: Sendable {
    package var authData: [String: String]
    package var password: String
    /// Replaces the password with the login.
    package var newPassword: String?
    package var device: SessionDevice
    /// The login by a provider of a function server, which takes the place of all else.
    package var provider: FunctionProviderLogIn?

    package init(
        authData: [String: String],
        password: String,
        newPassword: String? = nil,
        device: SessionDevice = SessionDevice()
    ) {
        self.authData = authData
        self.password = password
        self.newPassword = newPassword
        self.device = device
    }

    fileprivate static let form = Form(
        LogInRequest.init(authData:password:newPassword:device:),
        Member(
            "auth_data",
            \.authData,
            .loginKeys,
            "One complete login key with its value, such as `{\"username\": \"ann\"}`."
        ),
        Member("password", \.password, .secret, "The password."),
        Member(
            optional: "new_password",
            \.newPassword,
            .secret,
            "A new password, which replaces this one and ends all other sessions."
        ),
        Member(\.device, members: SessionDevice.parameters)
    )
}

/// The password that `auth:password` replaces, and the new one.
package struct ChangePasswordRequest: Sendable {
    package var oldPassword: String
    package var password: String

    package init(oldPassword: String, password: String) {
        self.oldPassword = oldPassword
        self.password = password
    }
}

/// What `auth:register` turns an anonymous account with into one that its user can log in to.
package struct RegisterRequest: Sendable {
    /// Login keys and their values, `["username": "ann"]`.
    package var authData: [String: String]
    package var password: String
    /// Further fields of the `user` record.
    package var profile: [(name: FieldName, value: RecordValue)]

    package init(authData: [String: String], password: String, profile: [(name: FieldName, value: RecordValue)] = []) {
        self.authData = authData
        self.password = password
        self.profile = profile
    }

    fileprivate static func form(_ rules: ReadingRules) -> Form<RegisterRequest> {
        Form(
            { RegisterRequest(authData: $0, password: $1, profile: $2 ?? []) },
            Member(
                "auth_data",
                \.authData,
                .loginKeys,
                "One or more complete login keys with their values, such as `{\"username\": \"ann\"}`."
            ),
            Member("password", \.password, .secret, "The password."),
            .profile(\.profile.nonEmpty, rules)
        )
    }
}

extension Member where Value == [(name: FieldName, value: RecordValue)]? {
    static func profile(_ path: any Swift.KeyPath<Root, Value> & Sendable, _ rules: ReadingRules) -> Member {
        Member(optional: "profile", path, .profile(rules), "Further fields of the user record.")
    }
}

extension Form {
    /// Reads Skygear's other way to log in, by a plugin, too.
    fileprivate func reading(provider make: @escaping @Sendable (FunctionProviderLogIn) -> Root) -> Form {
        reading { json, form throws(SkyrowError) in
            let parameters = Parameters(json)
            guard let provider = try parameters.string("provider") else { return try form.read(json) }
            let data = try parameters.required("provider_auth_data", parameters.object("provider_auth_data"))
            return make(
                FunctionProviderLogIn(
                    provider: provider,
                    authData: data.jsonText,
                    device: try SessionDevice.parameters.read(json)
                )
            )
        }
    }
}

extension Actions {
    /// Makes an account, and logs in to it.
    package static let authSignUp = Action<SignUpRequest, AuthResult>(
        "auth:signup",
        "Creates an account and its user record, and logs in; without parameters the account is anonymous.",
        requires: .key,
        scope: .signUp,
        cost: .password,
        errors: [.duplicated, .incompatibleSchema, .verificationRequired, .notSupported],
        SignUpRequest.form(.rpc),
        v1: SignUpRequest.form(.v1).reading(provider: { provider in
            var request = SignUpRequest()
            request.provider = provider
            return request
        }),
        result: .authResult
    )

    /// Logs in with a login key and its password.
    package static let authLogIn = Action<LogInRequest, AuthResult>(
        "auth:login",
        "Returns a new access token for a login key and its password.",
        requires: .key,
        scope: .signUp,
        cost: .password,
        errors: [
            .invalidCredentials, .userDisabled, .verificationRequired, .secondFactorRequired, .passwordPolicyViolated,
            .notSupported,
        ],
        LogInRequest.form,
        v1: LogInRequest.form.reading(provider: { provider in
            var request = LogInRequest(authData: [:], password: "")
            request.provider = provider
            return request
        }),
        result: .authResult
    )

    /// Changes the password of the caller's account.
    package static let authPassword = Action<ChangePasswordRequest, AuthResult>(
        "auth:password",
        "Changes the password, ends every session and returns a new access token.",
        requires: .user,
        scope: .account(.writing),
        cost: .password,
        errors: [.invalidCredentials, .passwordPolicyViolated, .notSupported],
        Form(
            ChangePasswordRequest.init(oldPassword:password:),
            Member("old_password", \.oldPassword, .secret, "The current password."),
            Member("password", \.password, .secret, "The new password.")
        ),
        result: .authResult
    )

    /// Gives the caller's anonymous account login keys and a password.
    package static let authRegister = Action<RegisterRequest, AuthResult>(
        "auth:register",
        "Gives an anonymous account login keys and a password, ends its sessions and returns a new access token; its records stay.",
        requires: .user,
        scope: .account(.writing),
        cost: .password,
        errors: [.duplicated, .incompatibleSchema, .permissionDenied, .passwordPolicyViolated, .notSupported],
        RegisterRequest.form(.rpc),
        v1: RegisterRequest.form(.v1),
        result: .authResult
    )
}
