import SkyrowModel

// The declarations of the actions on one-time codes.

extension ActionCatalog {
    static let authVerifyRequest = ActionDescription(
        .authVerifyRequest,
        "Sends a mail with a code that proves an address; the response is the same for one that no account has.",
        requirement: .keyOrToken,
        parameters: [
            ActionParameter(
                "email",
                "The address; without it, that of the logged-in user.",
                .nullable(.string(maximum: 255))
            ),
            language,
        ],
        result: ticket,
        errors: [.notSupported],
        cost: .write,
        effect: .once
    )

    static let authVerifyConfirm = ActionDescription(
        .authVerifyConfirm,
        "Proves an address with the code of a mail.",
        requirement: .keyOrToken,
        parameters: [code, handle],
        result: .named(.status),
        errors: [.invalidToken],
        cost: .write,
        effect: .once
    )

    static let authResetRequest = ActionDescription(
        .authResetRequest,
        "Sends a mail with a code that sets a new password; the response is the same for an address that no account has.",
        requirement: .key,
        parameters: [
            ActionParameter("email", "The address of the account.", .string(maximum: 255), isRequired: true),
            language,
        ],
        result: ticket,
        errors: [.notSupported],
        cost: .write,
        effect: .once
    )

    static let authResetConfirm = ActionDescription(
        .authResetConfirm,
        "Sets a new password with the code of a mail, ends every session and returns a new access token.",
        requirement: .key,
        parameters: [
            code, ActionParameter("password", "The new password.", .string(), isRequired: true), handle,
        ],
        result: .named(.authResult),
        errors: [.invalidToken, .passwordPolicyViolated, .secondFactorRequired, .notSupported],
        cost: .password,
        effect: .once
    )

    static let authResetPassword = ActionDescription(
        .authResetPassword,
        "Sets the password of an account, ends its sessions and returns a new access token of it.",
        requirement: .master,
        parameters: [
            ActionParameter("auth_id", "The user id of the account.", .string(maximum: 255), isRequired: true),
            ActionParameter("password", "The new password.", .string(), isRequired: true),
        ],
        result: .named(.authResult),
        errors: [.permissionDenied, .resourceNotFound, .passwordPolicyViolated, .userDisabled],
        cost: .password,
        effect: .once
    )

    static let authEmailChange = ActionDescription(
        .authEmailChange,
        "Sends a mail with six digits to a new address of the account; the response is the same for one that another account has.",
        requirement: .user,
        stepUp: .when("without \"password\""),
        parameters: [
            ActionParameter("email", "The new address.", .string(maximum: 255), isRequired: true),
            ActionParameter("password", "The password of the account, in the place of step-up.", .nullable(.string())),
            language,
        ],
        result: ticket,
        errors: [.notSupported, .invalidCredentials, .userDisabled],
        cost: .password,
        effect: .once
    )

    static let authEmailConfirm = ActionDescription(
        .authEmailConfirm,
        "Changes the address of the account with the digits of a mail, and ends its other sessions.",
        requirement: .user,
        parameters: [
            ActionParameter("code", "The six digits of the mail.", .string(maximum: 255), isRequired: true),
            requiredHandle,
        ],
        result: .named(.status),
        errors: [.invalidToken, .duplicated, .userDisabled],
        cost: .write,
        effect: .once
    )

    static let authEmailUndo = ActionDescription(
        .authEmailUndo,
        "Gives an account the address back that it had, ends its sessions and forgets its password.",
        requirement: .key,
        parameters: [
            ActionParameter(
                "code",
                "The code of the link in the mail to the address that the account had.",
                .string(maximum: 255),
                isRequired: true
            )
        ],
        result: .named(.status),
        errors: [.invalidToken, .duplicated],
        cost: .write,
        effect: .once
    )

    static let authLinkRequest = ActionDescription(
        .authLinkRequest,
        "Sends a mail with a code that logs in; the response is the same for an address that no account has.",
        requirement: .key,
        parameters: [
            ActionParameter("email", "The address of the account.", .string(maximum: 255), isRequired: true),
            language,
        ],
        result: ticket,
        errors: [.notSupported],
        cost: .write,
        effect: .once
    )

    static let authLinkLogIn = ActionDescription(
        .authLinkLogIn,
        "Logs in with the code of a mail, by the client that has asked for it.",
        requirement: .key,
        parameters: [code, requiredHandle] + device,
        result: .named(.authResult),
        errors: [.invalidToken, .notSupported, .secondFactorRequired],
        cost: .password,
        effect: .once
    )

    private static let requiredHandle = ActionParameter(
        "handle",
        "What the request for the code returned.",
        .string(maximum: 255),
        isRequired: true
    )
    private static let ticket = JSONShape.object([
        JSONMember("handle", .string(), isRequired: true),
        JSONMember("expires_at", .dateTime, isRequired: true),
    ])
    private static let code = ActionParameter(
        "code",
        "The code of the mail's link, or its six digits.",
        .string(maximum: 255),
        isRequired: true
    )
    private static let handle = ActionParameter(
        "handle",
        "What the request for the code returned; digits count with it alone.",
        .nullable(.string(maximum: 255))
    )
    private static let language = ActionParameter(
        "language",
        "The language of the mail, such as de or pt-BR; English where there are no texts in it.",
        .nullable(.string(maximum: 35))
    )
}
