import SkyrowModel

// The declaration of the action that registers an anonymous account.

extension ActionCatalog {
    static let authRegister = ActionDescription(
        .authRegister,
        "Gives an anonymous account login keys and a password, ends its sessions and returns a new access token; its records stay.",
        requirement: .user,
        parameters: [
            ActionParameter(
                "auth_data",
                "One or more complete login keys with their values, such as {\"username\": \"ann\"}.",
                .object([], others: .string()),
                isRequired: true
            ),
            ActionParameter("password", "The password.", .string(), isRequired: true),
            ActionParameter(
                "profile",
                "Further fields of the user record.",
                .nullable(.object([], others: .named(.value)))
            ),
        ],
        result: .named(.authResult),
        errors: [
            .duplicated, .incompatibleSchema, .permissionDenied, .passwordPolicyViolated, .userDisabled, .notSupported,
        ],
        cost: .password,
        effect: .once
    )
}
