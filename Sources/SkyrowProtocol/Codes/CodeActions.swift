import SkyrowJSON
package import SkyrowModel

/// The address that a mail with a code goes to.
public struct CodeRequest: Sendable {
    public var email: String
    /// The language of the mail, such as `de` or `pt-BR`.
    public var language: String?

    public init(email: String, language: String? = nil) {
        self.email = email
        self.language = language
    }

    static func form(_ summary: String = "The address of the account, in any case and form.") -> Form<CodeRequest> {
        Form(
            CodeRequest.init(email:language:),
            Member("email", \.email, .address, summary),
            Member(\.language, members: languageForm)
        )
    }

    fileprivate static let languageForm = Form(
        optional: "language",
        .string(1...35),
        "The language of the mail, such as `de` or `pt-BR`; English if the service has no texts in it."
    )
}

/// The address that `auth:verify:request` proves.
public struct VerificationRequest: Sendable {
    /// nil: that of the caller.
    public var email: String?
    /// The language of the mail, such as `de` or `pt-BR`.
    public var language: String?

    public init(email: String? = nil, language: String? = nil) {
        self.email = email
        self.language = language
    }

    fileprivate static let form = Form(
        VerificationRequest.init(email:language:),
        Member(optional: "email", \.email, .address, "The address; without it, that of the logged-in user."),
        Member(\.language, members: CodeRequest.languageForm)
    )

    /// `record_key` names the field of the user that is meant.
    fileprivate static let skygearForm = form.reading { json, form throws(SkyrowError) in
        if let key = json["record_key"], !key.isNull,
            !(try Codec<String>.string.read(key, "record_key")).isSameText(as: "email")
        {
            throw .invalidArgument("Only the field \"email\" can be verified.", "record_key")
        }
        return try form.read(json)
    }
}

/// The code of a mail: that of its link, or its digits with the handle.
public struct CodeConfirmation: Sendable {
    public var code: String
    public var handle: String?

    public init(code: String, handle: String? = nil) {
        self.code = code
        self.handle = handle
    }

    fileprivate static let form = Form(
        CodeConfirmation.init(code:handle:),
        Member(\.code, members: codeForm),
        Member(\.handle, members: optionalHandleForm)
    )

    fileprivate static let codeForm = Form("code", .code, "The code of the link, or the six digits.")
    fileprivate static let handleForm = Form("handle", .code, "`handle` of the request's result.")
    fileprivate static let optionalHandleForm = Form(
        optional: "handle",
        .code,
        "`handle` of the request's result; required with digits."
    )
}

/// The password that `auth:reset:confirm` sets, and the code that allows it.
package struct ResetConfirmation: Sendable {
    package var code: CodeConfirmation
    package var password: String

    package init(code: CodeConfirmation, password: String) {
        self.code = code
        self.password = password
    }

    fileprivate static let form = form(password: "password")

    /// The password may be that of `new_password`.
    fileprivate static let skygearForm = form.reading { json, form throws(SkyrowError) in
        let isNamed = json["password"].map { !$0.isNull } ?? false
        let isRenamed = json["new_password"].map { !$0.isNull } ?? false
        return try (isNamed || !isRenamed ? form : Self.form(password: "new_password")).read(json)
    }

    private static func form(password: StaticString) -> Form<ResetConfirmation> {
        Form(
            { ResetConfirmation(code: CodeConfirmation(code: $0, handle: $2), password: $1) },
            Member(\.code.code, members: CodeConfirmation.codeForm),
            Member(password, \.password, .secret, "The new password."),
            Member(\.code.handle, members: CodeConfirmation.optionalHandleForm)
        )
    }
}

/// The password that `auth:reset_password` sets.
package struct NewPassword: Sendable {
    package var userID: UserID
    package var password: String

    package init(userID: UserID, password: String) {
        self.userID = userID
        self.password = password
    }
}

/// The address that `auth:email:change` mails digits to.
public struct EmailChange: Sendable {
    /// The new address.
    public var email: String
    /// The password of the account, in place of step-up.
    public var password: String?
    /// The language of the mail, such as `de` or `pt-BR`.
    public var language: String?

    public init(email: String, password: String? = nil, language: String? = nil) {
        self.email = email
        self.password = password
        self.language = language
    }
}

/// The digits with which `auth:email:confirm` changes the address.
public struct EmailConfirmation: Sendable {
    public var code: String
    public var handle: String

    public init(code: String, handle: String) {
        self.code = code
        self.handle = handle
    }
}

/// The code with which `auth:link:login` logs in.
package struct LinkLogIn: Sendable {
    /// The code of the link, or the digits of the mail.
    package var code: String
    package var handle: String
    package var device: SessionDevice

    package init(code: String, handle: String, device: SessionDevice = SessionDevice()) {
        self.code = code
        self.handle = handle
        self.device = device
    }
}

extension Codec<String> {
    /// 1 to 255 bytes. Whether it is an address is judged where it is used.
    fileprivate static let address = string(1...255)

    /// 1 to 255 bytes. Codes and handles are shorter.
    fileprivate static let code = string(1...255)
}

extension Actions {
    /// Mails a code that proves an address.
    public static let authVerifyRequest = Action<VerificationRequest, CodeTicket>(
        "auth:verify:request",
        "Sends a mail with a code that proves an address; the response is the same for an address without an account.",
        requires: .keyOrToken,
        scope: .signUp,
        cost: .write,
        errors: [.notSupported],
        VerificationRequest.form,
        v1: VerificationRequest.skygearForm,
        result: .codeTicket
    )

    /// Proves an address with the code of a mail.
    public static let authVerifyConfirm = Action<CodeConfirmation, Void>(
        "auth:verify:confirm",
        "Proves an address with the code of a mail.",
        requires: .keyOrToken,
        scope: .signUp,
        cost: .write,
        errors: [.invalidToken],
        CodeConfirmation.form,
        result: .status
    )

    /// Mails a code that sets a new password.
    public static let authResetRequest = Action<CodeRequest, CodeTicket>(
        "auth:reset:request",
        "Sends a mail with a code that sets a new password; the response is the same for an address without an account.",
        requires: .key,
        scope: .signUp,
        cost: .write,
        errors: [.notSupported],
        CodeRequest.form(),
        result: .codeTicket
    )

    /// Sets a new password with the code of a mail, and logs in.
    package static let authResetConfirm = Action<ResetConfirmation, AuthResult>(
        "auth:reset:confirm",
        "Sets a new password with the code of a mail, ends every session and returns a new access token.",
        requires: .key,
        scope: .signUp,
        cost: .password,
        errors: [.invalidToken, .passwordPolicyViolated, .secondFactorRequired, .notSupported],
        ResetConfirmation.form,
        v1: ResetConfirmation.skygearForm,
        result: .authResult
    )

    /// Sets the password of an account, and logs in to it.
    package static let authResetPassword = Action<NewPassword, AuthResult>(
        "auth:reset_password",
        "Sets the password of an account, ends its sessions and returns a new access token.",
        requires: .master,
        cost: .password,
        errors: [.permissionDenied, .resourceNotFound, .passwordPolicyViolated, .userDisabled],
        Form(
            NewPassword.init(userID:password:),
            Member("auth_id", \.userID, .userID, "The user id of the account."),
            Member("password", \.password, .secret, "The new password.")
        ),
        result: .authResult
    )

    /// Mails digits to a new address of the caller's account.
    public static let authEmailChange = Action<EmailChange, CodeTicket>(
        "auth:email:change",
        "Sends a mail with six digits to a new address of the account; the response is the same if another account has it.",
        requires: .user,
        scope: .account(.writing),
        stepUp: .when("without \"password\""),
        cost: .password,
        errors: [.notSupported, .invalidCredentials],
        Form(
            EmailChange.init(email:password:language:),
            Member("email", \.email, .address, "The new address."),
            Member(optional: "password", \.password, .secret, "The password of the account, in place of step-up."),
            Member(\.language, members: CodeRequest.languageForm)
        ),
        result: .codeTicket
    )

    /// Changes the address of the caller's account with the digits of a mail.
    public static let authEmailConfirm = Action<EmailConfirmation, Void>(
        "auth:email:confirm",
        "Changes the address of the account with the digits of a mail, and ends its other sessions.",
        requires: .user,
        scope: .account(.writing),
        cost: .write,
        errors: [.invalidToken, .duplicated],
        Form(
            EmailConfirmation.init(code:handle:),
            Member("code", \.code, .code, "The six digits of the mail."),
            Member(\.handle, members: CodeConfirmation.handleForm)
        ),
        result: .status
    )

    /// Gives an account the address back that it had; the parameter is the code of a link.
    public static let authEmailUndo = Action<String, Void>(
        "auth:email:undo",
        "Restores the former address of an account, ends its sessions and removes its password.",
        requires: .key,
        scope: .signUp,
        cost: .write,
        errors: [.invalidToken, .duplicated],
        Form("code", .code, "The code of the link in the mail to the address that the account had."),
        result: .status
    )

    /// Mails a code that logs in.
    public static let authLinkRequest = Action<CodeRequest, CodeTicket>(
        "auth:link:request",
        "Sends a mail with a code that logs in; the response is the same for an address without an account.",
        requires: .key,
        scope: .signUp,
        cost: .write,
        errors: [.notSupported],
        CodeRequest.form(),
        result: .codeTicket
    )

    /// Logs in with the code of a mail.
    package static let authLinkLogIn = Action<LinkLogIn, AuthResult>(
        "auth:link:login",
        "Logs in with the code of a mail, on the client that requested it.",
        requires: .key,
        scope: .signUp,
        cost: .password,
        errors: [.invalidToken, .notSupported, .secondFactorRequired],
        Form(
            LinkLogIn.init(code:handle:device:),
            Member(\.code, members: CodeConfirmation.codeForm),
            Member(\.handle, members: CodeConfirmation.handleForm),
            Member(\.device, members: SessionDevice.parameters)
        ),
        result: .authResult
    )
}
