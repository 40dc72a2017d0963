import SkyrowModel

// The declarations of `auth:*`.

extension ActionCatalog {
    static let authSignUp = ActionDescription(
        .authSignUp,
        "Makes an account and its user record, and logs in; without any parameter the account is anonymous.",
        requirement: .key,
        parameters: [
            ActionParameter(
                "auth_data",
                "One or more complete login keys with their values; none for an anonymous account.",
                .nullable(.object([], others: .string()))
            ),
            ActionParameter("password", "The password; none for an anonymous account.", .nullable(.string())),
            ActionParameter(
                "profile",
                "Further fields of the user record.",
                .nullable(.object([], others: .named(.value)))
            ),
        ] + device,
        result: .named(.authResult),
        errors: [.duplicated, .incompatibleSchema, .verificationRequired, .notSupported],
        cost: .password,
        effect: .once
    )

    static let authLogIn = ActionDescription(
        .authLogIn,
        "Returns a new access token for a login key and its password.",
        requirement: .key,
        parameters: [
            authData,
            ActionParameter("password", "The password.", .string(), isRequired: true),
            ActionParameter("new_password", "Takes the password's place, as where that is too old.", .string()),
        ] + device,
        result: .named(.authResult),
        errors: [
            .invalidCredentials, .userDisabled, .verificationRequired, .secondFactorRequired, .passwordPolicyViolated,
            .notSupported,
        ],
        cost: .password,
        effect: .once
    )

    static let authPassword = ActionDescription(
        .authPassword,
        "Changes the password, ends every session and returns a new access token.",
        requirement: .user,
        parameters: [
            ActionParameter("old_password", "The password so far.", .string(), isRequired: true),
            ActionParameter("password", "The new password.", .string(), isRequired: true),
        ],
        result: .named(.authResult),
        errors: [.invalidCredentials, .userDisabled, .passwordPolicyViolated, .notSupported],
        cost: .password,
        effect: .once
    )

    private static let authData = ActionParameter(
        "auth_data",
        "One complete login key with its value, such as {\"username\": \"ann\"}.",
        .object([], others: .string()),
        isRequired: true
    )
}
