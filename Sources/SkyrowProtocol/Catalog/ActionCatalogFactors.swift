import SkyrowModel

// The declarations of the actions on second factors.

extension ActionCatalog {
    static let authLogInFactor = ActionDescription(
        .authLogInFactor,
        "Goes on with a log-in that takes a second factor, and returns a new access token.",
        requirement: .key,
        parameters: [
            ActionParameter("handle", "What error 137 has in info.handle.", .string(maximum: 255), isRequired: true),
            code,
        ],
        result: .named(.authResult),
        errors: [.invalidCredentials, .invalidToken],
        cost: .password,
        effect: .once
    )

    static let authTOTPEnrol = ActionDescription(
        .authTOTPEnrol,
        "Makes a secret for codes by time; it takes effect with auth:totp:confirm.",
        requirement: .user,
        stepUp: .always,
        result: .object([
            JSONMember("secret", .string(), isRequired: true), JSONMember("uri", .string(), isRequired: true),
        ]),
        errors: [.userDisabled],
        cost: .write,
        effect: .once
    )

    static let authTOTPConfirm = ActionDescription(
        .authTOTPConfirm,
        "Puts the secret into effect whose code comes, and returns ten recovery codes, which are shown once.",
        requirement: .user,
        stepUp: .always,
        parameters: [code],
        result: .object([JSONMember("recovery_codes", .array(of: .string()), isRequired: true)]),
        errors: [.invalidCredentials, .resourceNotFound, .userDisabled],
        cost: .write,
        effect: .once
    )

    static let authTOTPRemove = ActionDescription(
        .authTOTPRemove,
        "Removes the second factor with its recovery codes.",
        requirement: .user,
        stepUp: .always,
        result: .named(.status),
        errors: [.resourceNotFound, .userDisabled],
        cost: .write,
        effect: .once
    )

    static let authFactorList = ActionDescription(
        .authFactorList,
        "Returns the second factors of the user.",
        requirement: .user,
        result: .array(
            of: .object([
                JSONMember("kind", .oneOfStrings(["totp", "recovery"]), isRequired: true),
                JSONMember("confirmed_at", .dateTime, isRequired: true),
                JSONMember("last_used_at", .dateTime),
                JSONMember("left", .integer(minimum: 0)),
            ])
        ),
        errors: [.userDisabled],
        cost: .read,
        effect: .reads
    )

    private static let code = ActionParameter(
        "code",
        "Six digits, or a recovery code where one counts.",
        .string(maximum: 255),
        isRequired: true
    )
}
