package import SkyrowJSON
package import SkyrowModel

extension Credentials {
    /// Reads `api_key`, `access_token` and `_user_id` from the parameters; headers come before these.
    package init(parameters json: JSONView) throws(SkyrowError) {
        let parameters = Parameters(json)
        self.init(
            key: try parameters.string("api_key"),
            accessToken: try parameters.string("access_token"),
            actingUserID: try parameters.userID("_user_id")
        )
    }
}

extension SignUpRequest {
    /// Reads `auth:signup`; members of `profile` that are empty or begin with `_` are dropped.
    package init(parameters json: JSONView, rules: ReadingRules = .rpc) throws(SkyrowError) {
        let parameters = Parameters(json)
        try refuseProvider(parameters)
        self.init(
            authData: try loginData(parameters) ?? [:],
            password: try parameters.string("password"),
            profile: try profileFields(parameters, rules: rules),
            device: try SessionDevice(parameters)
        )
    }
}

/// The fields of profiles as they come with sign-ups and in tokens.
package enum ProfileFields {
    /// Reads an object; members that are empty or begin with `_` are dropped.
    ///
    /// Throws `132 PayloadTooLarge` and `108 InvalidArgument`.
    package static func read(
        _ json: JSONView,
        rules: ReadingRules
    ) throws(SkyrowError) -> [(name: FieldName, value: RecordValue)] {
        guard json.source.count <= WireLimits.recordBytes else {
            throw SkyrowError(.payloadTooLarge, "A record can have at most \(WireLimits.recordBytes) bytes of JSON.")
        }
        var fields = DraftFields()
        for (key, value) in json.members where key.firstByte != UInt8(ascii: "_") {
            if let name = key.string, !name.isEmpty { try fields.append(name, value, rules: rules) }
        }
        return fields.list
    }
}

extension RegisterRequest {
    /// Reads `auth:register`; members of `profile` that are empty or begin with `_` are dropped.
    package init(parameters json: JSONView, rules: ReadingRules = .rpc) throws(SkyrowError) {
        let parameters = Parameters(json)
        self.init(
            authData: try parameters.required("auth_data", loginData(parameters)),
            password: try parameters.required("password", parameters.string("password")),
            profile: try profileFields(parameters, rules: rules)
        )
    }
}

private func profileFields(
    _ parameters: Parameters,
    rules: ReadingRules
) throws(SkyrowError) -> [(name: FieldName, value: RecordValue)] {
    guard let profile = try parameters.object("profile") else { return [] }
    return try ProfileFields.read(profile, rules: rules)
}

extension LogInRequest {
    /// Reads `auth:login`.
    package init(parameters json: JSONView) throws(SkyrowError) {
        let parameters = Parameters(json)
        try refuseProvider(parameters)
        self.init(
            authData: try parameters.required("auth_data", loginData(parameters)),
            password: try parameters.required("password", parameters.string("password")),
            newPassword: try parameters.string("new_password"),
            device: try SessionDevice(parameters)
        )
    }
}

private func loginData(_ parameters: Parameters) throws(SkyrowError) -> [String: String]? {
    guard let object = try parameters.object("auth_data") else { return nil }
    guard object.count <= 16 else { throw parameters.tooMany("auth_data", 16) }
    var values: [String: String] = [:]
    for (name, value) in object.uniqueMembers where !value.isNull {
        guard let text = value.string else {
            throw .invalidArgument("The values of \"auth_data\" must be strings.", "auth_data")
        }
        guard text.isName else {
            throw .invalidArgument("The values of \"auth_data\" must be 1 to 255 bytes without NUL.", "auth_data")
        }
        values[name] = text
    }
    return values
}

/// Skygear's other way to log in, by a plugin, must not pass for an anonymous signup.
private func refuseProvider(_ parameters: Parameters) throws(SkyrowError) {
    guard parameters["provider"] == nil else {
        throw .invalidArgument("This server has no login provider of this name.", "provider")
    }
}

extension ChangePasswordRequest {
    /// Reads `auth:password`.
    package init(parameters json: JSONView) throws(SkyrowError) {
        let parameters = Parameters(json)
        self.init(
            oldPassword: try parameters.required("old_password", parameters.string("old_password")),
            password: try parameters.required("password", parameters.string("password"))
        )
    }
}

// MARK: The client's side

extension JSONWriter {
    /// The parameters of `auth:signup`.
    package func signUpParameters(_ request: SignUpRequest) {
        beginObject()
        if !request.authData.isEmpty {
            key("auth_data")
            authData(request.authData)
        }
        if let password = request.password {
            key("password")
            string(password)
        }
        if !request.profile.isEmpty {
            key("profile")
            beginObject()
            for (name, value) in request.profile {
                key(name.rawValue)
                self.value(value)
            }
            endObject()
        }
        device(request.device)
        endObject()
    }

    /// The parameters of `auth:login`.
    package func logInParameters(_ request: LogInRequest) {
        beginObject()
        key("auth_data")
        authData(request.authData)
        key("password")
        string(request.password)
        if let new = request.newPassword {
            key("new_password")
            string(new)
        }
        device(request.device)
        endObject()
    }

    /// The parameters of `auth:password`.
    package func changePasswordParameters(_ request: ChangePasswordRequest) {
        beginObject()
        key("old_password")
        string(request.oldPassword)
        key("password")
        string(request.password)
        endObject()
    }

    private func authData(_ values: [String: String]) {
        beginObject()
        for (name, value) in values.sorted(by: { $0.key < $1.key }) {
            key(name)
            string(value)
        }
        endObject()
    }
}
