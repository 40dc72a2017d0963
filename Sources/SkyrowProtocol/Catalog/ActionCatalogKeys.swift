import SkyrowModel

// The declarations of the actions on keys.

extension ActionCatalog {
    static let keyCreate = ActionDescription(
        .keyCreate,
        "Makes a key, whose text the response has this once.",
        requirement: .master,
        parameters: [
            ActionParameter(
                "name",
                "What it is for, for those who read the list.",
                .string(maximum: 255),
                isRequired: true
            ),
            ActionParameter(
                "kind",
                "client lets clients in, server passes the rules of records; client when missing.",
                .nullable(.oneOfStrings(KeyKind.allCases.map(\.rawValue)))
            ),
            ActionParameter(
                "scopes",
                "What it may do; without any, all that is open to its kind.",
                .nullable(.array(of: .string(maximum: 128)))
            ),
            ActionParameter(
                "networks",
                "From where it counts, as addresses and ranges; from everywhere without any.",
                .nullable(.array(of: .string(maximum: 64)))
            ),
            ActionParameter("expires_at", "When it ends; never when missing.", .nullable(.dateTime)),
        ],
        result: .object([JSONMember("key", .string(), isRequired: true)] + members),
        errors: [.permissionDenied],
        cost: .write,
        effect: .once
    )

    static let keyList = ActionDescription(
        .keyList,
        "Returns the keys, those that were revoked within 90 days too, without their texts.",
        requirement: .master,
        result: .object([JSONMember("keys", .array(of: .object(members)), isRequired: true)]),
        errors: [.permissionDenied],
        cost: .read,
        effect: .reads
    )

    static let keyRotate = ActionDescription(
        .keyRotate,
        "Gives a key another text, which the response has this once; the one so far is accepted for a while.",
        requirement: .master,
        parameters: [
            keyID,
            ActionParameter(
                "overlap",
                "For how many seconds the text so far is still accepted; a week when missing.",
                .nullable(.integer(minimum: 0, maximum: KeyRotateRequest.maximumOverlap))
            ),
        ],
        result: .object([JSONMember("key", .string(), isRequired: true)] + members),
        errors: [.permissionDenied, .resourceNotFound],
        cost: .write,
        effect: .once
    )

    static let keyRevoke = ActionDescription(
        .keyRevoke,
        "Ends a key; within a second no process accepts it.",
        requirement: .master,
        parameters: [keyID],
        result: .named(.status),
        errors: [.permissionDenied, .resourceNotFound],
        cost: .write,
        effect: .once
    )

    private static let keyID = ActionParameter("id", "The id of the key.", .string(maximum: 9), isRequired: true)

    private static let members = [
        JSONMember("id", .string(maximum: 9), isRequired: true),
        JSONMember("name", .string(maximum: 255), isRequired: true),
        JSONMember("kind", .oneOfStrings(KeyKind.allCases.map(\.rawValue)), isRequired: true),
        JSONMember("scopes", .array(of: .string()), isRequired: true),
        JSONMember("networks", .array(of: .string()), isRequired: true),
        JSONMember("created_at", .dateTime, isRequired: true),
        JSONMember("expires_at", .dateTime),
        JSONMember("revoked_at", .dateTime),
        JSONMember("last_used_at", .dateTime),
        JSONMember("previous_until", .dateTime),
    ]
}
