import SkyrowModel

// The declarations of the actions for sign-ins in the browser, for tokens of providers, and of Skygear's `sso:oauth`.

extension ActionCatalog {
    static let authProviderStart = ActionDescription(
        .authProviderStart,
        "Begins a sign-in with a provider by way of the browser, and returns the address that it is to open.",
        requirement: .key,
        stepUp: .when("with link, where the account is not anonymous"),
        parameters: [
            provider,
            ActionParameter(
                "redirect",
                "Where the user goes back to: an address that the settings of the service have for the provider.",
                .string(maximum: ProviderStartRequest.maximumRedirectBytes),
                isRequired: true
            ),
            ActionParameter(
                "code_challenge",
                "The SHA-256 of a fresh code_verifier in base64url, 43 characters (RFC 7636, S256).",
                .string(maximum: ProviderStartRequest.challengeLength),
                isRequired: true
            ),
            ActionParameter("state", "A text that the redirect brings back.", .nullable(.string(maximum: 255))),
            ActionParameter(
                "scopes",
                "What this sign-in asks the provider for beside what each one does; of those that the settings allow.",
                .nullable(.array(of: .string()))
            ),
            ActionParameter(
                "link",
                "Whether the logged-in user is to log in by the provider too.",
                .nullable(.boolean)
            ),
            ActionParameter(
                "stepup",
                "Whether the logged-in user proves once more who they are, as auth:stepup does; in the place of link.",
                .nullable(.boolean)
            ),
        ],
        result: .object([
            JSONMember("url", .string(), isRequired: true), JSONMember("expires_at", .dateTime, isRequired: true),
        ]),
        errors: [.notConfigured, .userDisabled, .stepUpRequired],
        cost: .password,
        effect: .once
    )

    static let authProviderFinish = ActionDescription(
        .authProviderFinish,
        "Ends a sign-in by way of the browser with the code that the redirect has brought.",
        requirement: .key,
        parameters: [
            ActionParameter(
                "code",
                "The code of the redirect; it counts once.",
                .string(maximum: 255),
                isRequired: true
            ),
            ActionParameter(
                "code_verifier",
                "The text of which auth:provider:start had the hash, 43 to 128 characters.",
                .string(maximum: ProviderFinishRequest.verifierLength.upperBound),
                isRequired: true
            ),
        ] + device,
        result: .named(.authResult),
        errors: [
            .invalidToken, .invalidCredentials, .duplicated, .userDisabled, .verificationRequired,
            .secondFactorRequired,
        ],
        cost: .password,
        effect: .once
    )

    static let authProviderToken = ActionDescription(
        .authProviderToken,
        "Returns the tokens that a provider gave for the user, where they are kept.",
        requirement: .user,
        parameters: [provider],
        result: .object([
            JSONMember("provider", .string(), isRequired: true),
            JSONMember("subject", .string(), isRequired: true),
            JSONMember("token", .object([], others: .any), isRequired: true),
            JSONMember("received_at", .dateTime, isRequired: true),
        ]),
        errors: [.resourceNotFound, .userDisabled],
        cost: .read,
        effect: .reads
    )

    static let ssoOAuthLogIn = ActionDescription(
        .ssoOAuthLogIn,
        "Logs in a user whom a server of the application's own has had a provider identify.",
        requirement: .master,
        parameters: namedIdentity + whatWasSaid + device,
        result: .named(.authResult),
        errors: [.invalidCredentials, .userDisabled, .verificationRequired, .secondFactorRequired],
        cost: .write,
        effect: .once
    )

    static let ssoOAuthSignUp = ActionDescription(
        .ssoOAuthSignUp,
        "Makes the account of a user whom a server of the application's own has had a provider identify, and logs in.",
        requirement: .master,
        parameters: namedIdentity + whatWasSaid + [
            ActionParameter(
                "profile",
                "Further fields of the user record.",
                .nullable(.object([], others: .any))
            )
        ] + device,
        result: .named(.authResult),
        errors: [.incompatibleSchema],
        cost: .write,
        effect: .once
    )

    static let ssoOAuthLink = ActionDescription(
        .ssoOAuthLink,
        "Lets a user log in by a provider that a server of the application's own has asked.",
        requirement: .master,
        parameters: namedIdentity + [user] + whatWasSaid,
        result: .oneOfStrings(["OK"]),
        errors: [.resourceNotFound],
        cost: .write,
        effect: .once
    )

    static let ssoOAuthUnlink = ActionDescription(
        .ssoOAuthUnlink,
        "Lets a user log in by a provider no more; refused where there is no other way to log in.",
        requirement: .master,
        parameters: [provider, user],
        result: .oneOfStrings(["OK"]),
        errors: [.resourceNotFound, .constraintViolated],
        cost: .write,
        effect: .once
    )

    private static let user = ActionParameter(
        "user_id",
        "Whose account it is.",
        .string(maximum: 255),
        isRequired: true
    )

    private static let namedIdentity = [
        provider,
        ActionParameter(
            "principal_id",
            "What the provider calls the user.",
            .string(maximum: 255),
            isRequired: true
        ),
    ]

    private static let whatWasSaid = [
        ActionParameter(
            "token_response",
            "The tokens that the provider gave, which auth:provider:token returns.",
            .nullable(.object([], others: .any))
        ),
        ActionParameter(
            "provider_profile",
            "What the provider says of the user.",
            .nullable(.object([], others: .any))
        ),
    ]
}
