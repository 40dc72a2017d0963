import SkyrowModel

// The declarations of `session:*`, `auth:become` and `auth:rotate`.

extension ActionCatalog {
    static let authBecome = ActionDescription(
        .authBecome,
        "Returns the account of an access token, with that token; no session is opened.",
        requirement: .key,
        parameters: [ActionParameter("token", "An access token.", .string(), isRequired: true)],
        result: .named(.authResult),
        errors: [.userDisabled],
        cost: .read,
        effect: .once
    )

    static let authRotate = ActionDescription(
        .authRotate,
        "Gives the session of the request another access token; the one before is accepted for 30 seconds more.",
        requirement: .user,
        result: .named(.authResult),
        errors: [.userDisabled],
        cost: .write,
        effect: .once
    )

    static let authStepUp = ActionDescription(
        .authStepUp,
        "Proves once more who the user is, for what takes that; it counts for ten minutes of this session.",
        requirement: .user,
        parameters: [
            ActionParameter(
                "password",
                "The password of the account; or a code, or the token of a provider.",
                .nullable(.string())
            ),
            ActionParameter("code", "A code of the second factor.", .nullable(.string(maximum: 255))),
        ] + providerToken.map { $0.optional },
        result: .object([JSONMember("elevated_until", .dateTime, isRequired: true)]),
        errors: [.invalidCredentials, .userDisabled, .notSupported],
        cost: .password,
        effect: .once
    )

    static let sessionList = ActionDescription(
        .sessionList,
        "Returns the sessions of the user, those used last first.",
        requirement: .user,
        result: .array(of: accountSession),
        errors: [.userDisabled],
        cost: .read,
        effect: .reads
    )

    static let sessionRevoke = ActionDescription(
        .sessionRevoke,
        "Ends sessions of the user: some by their ids, or all.",
        requirement: .user,
        stepUp: .when("with \"all\""),
        parameters: [
            ActionParameter("ids", "The ids of sessions.", .nullable(.array(of: .string(maximum: 36)))),
            ActionParameter("all", "Whether all sessions end, in place of ids.", .nullable(.boolean)),
            ActionParameter(
                "except_current",
                "Whether, of all, the session of the request goes on.",
                .nullable(.boolean)
            ),
        ],
        result: .object([JSONMember("revoked", .integer(minimum: 0), isRequired: true)]),
        errors: [.userDisabled],
        cost: .write,
        effect: .once
    )

    /// The parameters of a login that describe the device.
    static let device = [
        ActionParameter(
            "device_id",
            "What the application recognises the device by.",
            .nullable(.string(maximum: SessionDevice.maximumBytes))
        ),
        ActionParameter(
            "device_name",
            "What the user recognises the device by.",
            .nullable(.string(maximum: SessionDevice.maximumBytes))
        ),
    ]

    private static let accountSession = JSONShape.object([
        JSONMember("id", .string(maximum: 36), isRequired: true),
        JSONMember("device_id", .string(maximum: SessionDevice.maximumBytes)),
        JSONMember("device_name", .string(maximum: SessionDevice.maximumBytes)),
        JSONMember("address", .string()),
        JSONMember("user_agent", .string(maximum: SessionDevice.maximumBytes)),
        JSONMember("created_at", .dateTime, isRequired: true),
        JSONMember("last_used_at", .dateTime, isRequired: true),
        JSONMember("expires_at", .dateTime),
        JSONMember("created_with", .string()),
        JSONMember("level", .integer(minimum: 1, maximum: 2), isRequired: true),
        JSONMember("current", .boolean, isRequired: true),
    ])
}
