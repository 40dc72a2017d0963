import SkyrowModel

// The declarations of the actions that merge or delete accounts.

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

    static let authDelete = ActionDescription(
        .authDelete,
        "Deletes the account of the logged-in user with its private records; the settings say what becomes of public ones.",
        requirement: .user,
        stepUp: .always,
        result: deletion,
        errors: [.constraintViolated, .userDisabled],
        cost: .write,
        effect: .once
    )

    static let authInvite = ActionDescription(
        .authInvite,
        "Makes an account for the user of an address, and mails a link by which the user chooses its password.",
        requirement: .administrator,
        parameters: [
            ActionParameter("email", "The address.", .string(maximum: 255), isRequired: true),
            ActionParameter(
                "language",
                "The language of the mail, such as de or pt-BR; English where there are no texts in it.",
                .nullable(.string(maximum: 35))
            ),
        ],
        result: .object([JSONMember("user_id", .string(), isRequired: true)]),
        errors: [.permissionDenied, .duplicated, .notSupported, .userDisabled],
        cost: .write,
        effect: .once
    )

    static let authMerge = ActionDescription(
        .authMerge,
        "Moves the records and relations of an anonymous account to that of the logged-in user, and deletes it.",
        requirement: .user,
        parameters: [
            ActionParameter("token", "The access token of the anonymous account.", .string(), isRequired: true)
        ],
        result: .object([
            JSONMember("finished", .boolean, isRequired: true),
            JSONMember("records", .integer(minimum: 0), isRequired: true),
            JSONMember(
                "renamed",
                .array(
                    of: .object([
                        JSONMember("from", .string(), isRequired: true), JSONMember("to", .string(), isRequired: true),
                        JSONMember("cleared", .array(of: .string())),
                    ])
                ),
                isRequired: true
            ),
        ]),
        errors: [.invalidToken, .userDisabled],
        cost: .write,
        effect: .once
    )

    static let userDelete = ActionDescription(
        .userDelete,
        "Deletes the account of a user with its private records; the settings say what becomes of public ones.",
        requirement: .master,
        parameters: [
            ActionParameter("user_id", "The id of the account.", .string(maximum: 255), isRequired: true),
            ActionParameter(
                "release",
                "Whether references of other records to the profile become null that would keep it.",
                .nullable(.boolean)
            ),
        ],
        result: deletion,
        errors: [.permissionDenied, .resourceNotFound, .constraintViolated],
        cost: .write,
        effect: .once
    )

    private static let deletion = JSONShape.object([
        JSONMember("finished", .boolean, isRequired: true),
        JSONMember("deleted", .integer(minimum: 0), isRequired: true),
        JSONMember("anonymised", .integer(minimum: 0), isRequired: true),
        JSONMember("transferred", .integer(minimum: 0), isRequired: true),
        JSONMember("kept", .integer(minimum: 0), isRequired: true),
    ])
}
