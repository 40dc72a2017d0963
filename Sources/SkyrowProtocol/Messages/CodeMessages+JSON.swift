package import SkyrowJSON
package import SkyrowModel

extension CodeRequest {
    /// Reads `auth:reset:request`, `auth:link:request` and `auth:invite`.
    package init(resetParameters json: JSONView) throws(SkyrowError) {
        let parameters = Parameters(json)
        try self.init(email: parameters.required("email", parameters.name("email")), parameters)
    }

    /// Reads `auth:verify:request`; v1 says with `record_key` which field of the user is meant.
    package init(verificationParameters json: JSONView, rules: ReadingRules) throws(SkyrowError) {
        let parameters = Parameters(json)
        if rules == .v1, let key = try parameters.string("record_key"), !key.isSameText(as: "email") {
            throw .invalidArgument("Only the field \"email\" can be verified.", "record_key")
        }
        try self.init(email: parameters.name("email"), parameters)
    }

    private init(email: String?, _ parameters: Parameters) throws(SkyrowError) {
        self.init(email: email, language: try parameters.language())
    }
}

extension EmailChangeRequest {
    /// Reads `auth:email:change`.
    package init(parameters json: JSONView) throws(SkyrowError) {
        let parameters = Parameters(json)
        self.init(
            email: try parameters.required("email", parameters.name("email")),
            password: try parameters.string("password"),
            language: try parameters.language()
        )
    }
}

extension LinkLogInRequest {
    /// Reads `auth:link:login`.
    package init(parameters json: JSONView) throws(SkyrowError) {
        let parameters = Parameters(json)
        self.init(
            code: try parameters.required("code", parameters.name("code")),
            handle: try parameters.required("handle", parameters.name("handle")),
            device: try SessionDevice(parameters)
        )
    }
}

extension CodeConfirmation {
    /// Reads `auth:verify:confirm`, and what `auth:reset:confirm` has of it.
    package init(parameters json: JSONView) throws(SkyrowError) {
        let parameters = Parameters(json)
        self.init(
            code: try parameters.required("code", parameters.name("code")),
            handle: try parameters.name("handle")
        )
    }

    /// Reads `auth:email:confirm`, whose code counts with its handle alone.
    package init(handledParameters json: JSONView) throws(SkyrowError) {
        try self.init(parameters: json)
        handle = try Parameters(json).required("handle", handle)
    }

    /// Reads the code of `auth:email:undo`.
    package static func code(_ json: JSONView) throws(SkyrowError) -> String {
        let parameters = Parameters(json)
        return try parameters.required("code", parameters.name("code"))
    }
}

extension ResetConfirmation {
    /// Reads `auth:reset:confirm`; v1 has `new_password`.
    package init(parameters json: JSONView, rules: ReadingRules) throws(SkyrowError) {
        let parameters = Parameters(json)
        var password = try parameters.string("password")
        if password == nil, rules == .v1 { password = try parameters.string("new_password") }
        self.init(
            code: try CodeConfirmation(parameters: json),
            password: try parameters.required("password", password)
        )
    }
}

extension SetPasswordRequest {
    /// Reads `auth:reset_password`.
    package init(parameters json: JSONView) throws(SkyrowError) {
        let parameters = Parameters(json)
        self.init(
            userID: UserID(try parameters.required("auth_id", parameters.name("auth_id"))),
            password: try parameters.required("password", parameters.string("password"))
        )
    }
}

extension Parameters {
    /// A text that is neither empty nor longer than a name, and has no NUL.
    fileprivate func name(_ name: StaticString) throws(SkyrowError) -> String? {
        guard let text = try string(name) else { return nil }
        guard text.isName else { throw .invalidArgument("\"\(name)\" must be 1 to 255 bytes without NUL.", "\(name)") }
        return text
    }

    /// A tag of RFC 5646, as far as its length goes; the templates know which there are.
    fileprivate func language() throws(SkyrowError) -> String? {
        guard let language = try string("language") else { return nil }
        guard (1...35).contains(language.utf8.count), !language.hasNUL else {
            throw .invalidArgument("A language must be a tag such as de or pt-BR.", "language")
        }
        return language
    }
}

extension JSONWriter {
    /// The result of `auth:verify:request` and `auth:reset:request`.
    package func codeTicket(_ ticket: CodeTicket) {
        beginObject()
        key("handle")
        string(ticket.handle)
        key("expires_at")
        timestamp(ticket.expiresAt)
        endObject()
    }

    // MARK: The client's side

    /// The parameters of `auth:verify:request`, `auth:reset:request`, `auth:link:request` and `auth:invite`.
    package func codeRequestParameters(_ request: CodeRequest) {
        beginObject()
        if let email = request.email {
            key("email")
            string(email)
        }
        if let language = request.language {
            key("language")
            string(language)
        }
        endObject()
    }

    /// The parameters of `auth:verify:confirm`, `auth:email:confirm` and `auth:email:undo`, and with a password those of
    /// `auth:reset:confirm`.
    package func codeConfirmationParameters(_ confirmation: CodeConfirmation, password: String? = nil) {
        beginObject()
        key("code")
        string(confirmation.code)
        if let handle = confirmation.handle {
            key("handle")
            string(handle)
        }
        if let password {
            key("password")
            string(password)
        }
        endObject()
    }

    /// The parameters of `auth:email:change`.
    package func emailChangeParameters(_ request: EmailChangeRequest) {
        beginObject()
        key("email")
        string(request.email)
        if let password = request.password {
            key("password")
            string(password)
        }
        if let language = request.language {
            key("language")
            string(language)
        }
        endObject()
    }

    /// The parameters of `auth:link:login`.
    package func linkLogInParameters(_ request: LinkLogInRequest) {
        beginObject()
        key("code")
        string(request.code)
        key("handle")
        string(request.handle)
        device(request.device)
        endObject()
    }

    /// The parameters of `auth:reset_password`.
    package func setPasswordParameters(_ request: SetPasswordRequest) {
        beginObject()
        key("auth_id")
        string(request.userID.rawValue)
        key("password")
        string(request.password)
        endObject()
    }
}
