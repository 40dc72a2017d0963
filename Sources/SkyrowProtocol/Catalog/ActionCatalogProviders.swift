import SkyrowModel

// The declarations of the actions on providers and custom tokens.

extension ActionCatalog {
    static let authProviderLogIn = ActionDescription(
        .authProviderLogIn,
        "Logs in with the id token of a provider, and makes the account where there is none yet.",
        requirement: .key,
        parameters: providerToken + device,
        result: .named(.authResult),
        errors: [.invalidCredentials, .userDisabled, .verificationRequired, .secondFactorRequired],
        cost: .password,
        effect: .once
    )

    static let authProviderLink = ActionDescription(
        .authProviderLink,
        "Lets the user log in by a provider too; an anonymous account is registered from then on.",
        requirement: .user,
        stepUp: .when("where the account is not anonymous"),
        parameters: providerToken,
        result: .named(.status),
        errors: [.invalidCredentials, .duplicated, .userDisabled],
        cost: .password,
        effect: .once
    )

    static let authProviderUnlink = ActionDescription(
        .authProviderUnlink,
        "Lets the user log in by a provider no more; refused where there is no other way to log in.",
        requirement: .user,
        stepUp: .always,
        parameters: [provider],
        result: .named(.status),
        errors: [.resourceNotFound, .constraintViolated, .userDisabled],
        cost: .write,
        effect: .once
    )

    static let authProviderList = ActionDescription(
        .authProviderList,
        "Returns by which providers the user logs in.",
        requirement: .user,
        result: .array(
            of: .object([
                JSONMember("provider", .string(), isRequired: true),
                JSONMember("subject", .string(), isRequired: true),
                JSONMember("profile", .object([], others: .any), isRequired: true),
                JSONMember("created_at", .dateTime, isRequired: true),
                JSONMember("last_used_at", .dateTime),
            ])
        ),
        errors: [.userDisabled],
        cost: .read,
        effect: .reads
    )

    static let ssoCustomTokenLogIn = ActionDescription(
        .ssoCustomTokenLogIn,
        "Logs in with a token that a server of the application's own has signed, and makes the account where there is none yet.",
        requirement: .key,
        parameters: [
            ActionParameter(
                "token",
                "A JSON Web Token with sub, iat and exp.",
                .string(maximum: CustomTokenRequest.maximumBytes),
                isRequired: true
            )
        ] + device,
        result: .named(.authResult),
        errors: [
            .notConfigured, .invalidCredentials, .userDisabled, .verificationRequired, .secondFactorRequired,
            .incompatibleSchema,
        ],
        cost: .password,
        effect: .once
    )

    static let provider = ActionParameter(
        "provider",
        "The name of a provider, as the settings of the service have it.",
        .string(maximum: 255),
        isRequired: true
    )
    /// The parameters of a provider's token.
    static let providerToken = [
        provider,
        ActionParameter(
            "id_token",
            "The id token that the provider gave the application.",
            .string(maximum: ProviderToken.maximumBytes),
            isRequired: true
        ),
        ActionParameter(
            "nonce",
            "What the application drew for this sign-in and sent to the provider, as it is or as the hexadecimal SHA-256 of it.",
            .string(maximum: 255),
            isRequired: true
        ),
        ActionParameter(
            "provider_access_token",
            "The access token that came with the id token; it has to be the one that this names by at_hash.",
            .nullable(.string(maximum: ProviderToken.maximumBytes))
        ),
    ]
}
