public import SkyrowModel

/// What `auth:login:factor` completes a log-in with.
package struct FactorLogIn: Hashable, Sendable {
    /// What error 137 had in `info.handle`.
    package var handle: String
    package var code: String

    package init(handle: String, code: String) {
        self.handle = handle
        self.code = code
    }

    fileprivate static func codeForm(_ summary: String) -> Form<String> {
        // An empty code is refused as a wrong one.
        Form("code", .string(0...255), summary)
    }
}

extension Actions {
    /// Goes on with a log-in that takes a second factor.
    package static let authLogInFactor = Action<FactorLogIn, AuthResult>(
        "auth:login:factor",
        "Completes a log-in with the second factor, and returns a new access token.",
        requires: .key,
        scope: .signUp,
        cost: .password,
        errors: [.invalidCredentials, .invalidToken],
        Form(
            FactorLogIn.init(handle:code:),
            Member("handle", \.handle, .string(0...255), "`info.handle` of error 137."),
            Member(
                \.code,
                members: FactorLogIn.codeForm("Six digits, or a recovery code in any case, with or without its hyphen.")
            )
        ),
        result: .authResult
    )

    /// Makes a secret for time-based codes, which takes effect with `authTOTPConfirm`.
    public static let authTOTPEnrol = Action<Void, TOTPEnrolment>(
        "auth:totp:enrol",
        "Creates a secret for time-based codes; it takes effect with auth:totp:confirm.",
        requires: .user,
        scope: .account(.writing),
        stepUp: .always,
        cost: .write,
        .none,
        result: .totpEnrolment
    )

    /// Puts the secret of a code into effect, and returns recovery codes, which are shown once.
    public static let authTOTPConfirm = Action<String, [String]>(
        "auth:totp:confirm",
        "Puts a secret into effect by one of its codes, and returns ten recovery codes, which are shown once.",
        requires: .user,
        scope: .account(.writing),
        stepUp: .always,
        cost: .write,
        errors: [.invalidCredentials, .resourceNotFound],
        FactorLogIn.codeForm("Six digits."),
        result: .object(Form("recovery_codes", .list(of: .string), "Each can be used once."))
    )

    /// Removes the second factor with its recovery codes.
    public static let authTOTPRemove = Action<Void, Void>(
        "auth:totp:remove",
        "Removes the second factor with its recovery codes.",
        requires: .user,
        scope: .account(.writing),
        stepUp: .always,
        cost: .write,
        errors: [.resourceNotFound],
        .none,
        result: .status
    )

    /// The second factors of the user.
    public static let authFactorList = Action<Void, [AccountFactor]>(
        "auth:factor:list",
        "Returns the second factors of the user.",
        requires: .user,
        scope: .account(.reading),
        cost: .read,
        .none,
        result: .list(of: .accountFactor)
    )
}
