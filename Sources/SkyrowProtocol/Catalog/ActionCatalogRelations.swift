import SkyrowModel

// The declarations of `relation:*`.

extension ActionCatalog {
    static let relationAdd = ActionDescription(
        .relationAdd,
        "Adds users as friends of the caller, or has the caller follow them.",
        requirement: .user,
        parameters: [relationName, relationTargets],
        result: .array(of: .named(.relatedUser)),
        errors: [.permissionDenied, .resourceNotFound, .notSupported, .userDisabled],
        cost: .write,
        effect: .once
    )

    static let relationRemove = ActionDescription(
        .relationRemove,
        "Takes users from the friends of the caller, or from those whom the caller follows.",
        requirement: .user,
        parameters: [relationName, relationTargets],
        result: .array(of: .named(.relatedUser)),
        errors: [.notSupported, .userDisabled],
        cost: .write,
        effect: .once
    )

    static let relationQuery = ActionDescription(
        .relationQuery,
        "Returns users to whom the caller has a relation, as far as the caller may read their profiles.",
        requirement: .user,
        parameters: [
            relationName,
            ActionParameter(
                "direction",
                "Whose doing it is; mutual unless it is said.",
                .nullable(.oneOfStrings(RelationDirection.allCases.map(\.rawValue)))
            ),
        ] + relationPaging,
        result: relationUsers,
        errors: [.notSupported, .userDisabled],
        cost: .read,
        effect: .reads,
        narrowing: ResultNarrowing(parameters: ["limit"], advice: "send a lower limit.")
    )

    static let relationRequests = ActionDescription(
        .relationRequests,
        "Returns the users who have added the caller as a friend, and whom the caller has not added.",
        requirement: .user,
        parameters: relationPaging,
        result: relationUsers,
        errors: [.userDisabled],
        cost: .read,
        effect: .reads,
        narrowing: ResultNarrowing(parameters: ["limit"], advice: "send a lower limit.")
    )

    static let relationBlock = ActionDescription(
        .relationBlock,
        "Keeps users from adding the caller and ends every relation with them, or lets them again.",
        requirement: .user,
        parameters: [
            relationTargets,
            ActionParameter("blocked", "False to let them again.", .nullable(.boolean)),
        ],
        result: .array(of: .named(.relatedUser)),
        errors: [.resourceNotFound, .userDisabled],
        cost: .write,
        effect: .once
    )

    /// The shape of a user of a relation, or of an error about one.
    static let relatedUserShape = JSONShape.object([
        JSONMember("id", .string(), isRequired: true),
        JSONMember("type", .oneOfStrings(["user", "error"])),
        JSONMember("data", .any),
        JSONMember("mutual", .boolean),
    ])

    /// In the v1 envelope the users are the result, and `info` is beside it.
    private static let relationUsers = JSONShape.object([
        JSONMember("users", .array(of: .named(.relatedUser)), isRequired: true),
        JSONMember(
            "info",
            .object([JSONMember("count", .integer(minimum: 0), isRequired: true)]),
            isRequired: true
        ),
    ])
    private static let relationName = ActionParameter(
        "name",
        "The relation, `friend` or `follow`.",
        .oneOfStrings([UserRelation.friend.rawValue, UserRelation.follow.rawValue]),
        isRequired: true
    )
    private static let relationTargets = ActionParameter(
        "targets",
        "The ids of at most \(RelationChangeRequest.maximumTargets) users.",
        .array(of: .string(maximum: 255)),
        isRequired: true
    )
    private static let relationPaging = [
        ActionParameter(
            "limit",
            "How many users at most, \(PageRequest.defaultLimit) unless it is said.",
            .nullable(.integer(minimum: 0, maximum: PageRequest.maximumLimit))
        ),
        ActionParameter(
            "offset",
            "How many are passed over.",
            .nullable(.integer(minimum: 0, maximum: RecordQuery.maximumOffset))
        ),
        ActionParameter("page", "Which part, from 1; in the place of an offset.", .nullable(.integer(minimum: 1))),
    ]
}
