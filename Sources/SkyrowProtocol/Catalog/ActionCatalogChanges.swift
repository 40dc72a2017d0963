import SkyrowModel

// The declarations of `changes:*`.

extension ActionCatalog {
    static let changesFetch = ActionDescription(
        .changesFetch,
        "Returns what changed since a change token of the records of one type that match a predicate; without a token all of them.",
        requirement: .keyOrToken,
        parameters: kept + [
            ActionParameter("since", "The change token that the client goes on from.", .nullable(.string())),
            cursor,
            ActionParameter(
                "limit",
                "How many records to send, 100 when missing, and as many removed ids; a page ends at a megabyte, too.",
                .nullable(.integer(minimum: 1, maximum: ChangesRequest.maximumLimit))
            ),
            ActionParameter(
                "wait",
                "For how many seconds to wait for the first change.",
                .nullable(.integer(minimum: 0, maximum: ChangesRequest.maximumWait))
            ),
            ActionParameter(
                "holding",
                "What the client holds, so that it learns of no other record that it is gone: ids, or a Bloom filter of them.",
                .nullable(
                    .either([
                        .object([JSONMember("ids", .array(of: .named(.recordID)), isRequired: true)]),
                        .object([
                            JSONMember("bits", .string(), isRequired: true),
                            JSONMember(
                                "hashes",
                                .integer(minimum: 1, maximum: BloomFilter.maximumHashes),
                                isRequired: true
                            ),
                        ]),
                    ])
                )
            ),
        ],
        result: .object(
            [
                JSONMember("changed", .array(of: .named(.record)), isRequired: true),
                JSONMember("removed", .array(of: .named(.recordID)), isRequired: true),
            ] + ending
        ),
        errors: errors,
        cost: .read,
        effect: .reads,
        narrowing: ResultNarrowing(
            parameters: ["limit", "desired_keys"],
            advice: "lower limit, or name fewer desired_keys"
        )
    )

    static let changesCompare = ActionDescription(
        .changesCompare,
        "Returns the ids and revisions of all records of one type that match a predicate, for a client to compare with its own.",
        requirement: .keyOrToken,
        parameters: kept + [
            cursor,
            ActionParameter(
                "limit",
                "How many records to name, 5000 when missing.",
                .nullable(.integer(minimum: 1, maximum: ChangesRequest.maximumPairs))
            ),
        ],
        result: .object(
            [
                JSONMember(
                    "records",
                    .array(of: .tuple([.string(maximum: 255), .integer()], rest: nil)),
                    isRequired: true
                )
            ] + ending
        ),
        errors: errors,
        cost: .read,
        effect: .reads,
        narrowing: ResultNarrowing(parameters: ["limit"], advice: "lower limit")
    )

    private static let kept = [
        ActionParameter("record_type", "The record type.", .string(maximum: 63), isRequired: true),
        ActionParameter(
            "database_id",
            "The database: _public (also when missing), _private, or a user id.",
            .nullable(.string(maximum: 255))
        ),
        ActionParameter(
            "predicate",
            "What must hold, of each record by itself; everything matches without it.",
            .nullable(.named(.predicate))
        ),
        ActionParameter(
            "desired_keys",
            "The user fields to send; all of them when missing.",
            .nullable(.array(of: .string()))
        ),
    ]

    private static let cursor = ActionParameter(
        "cursor",
        "The cursor of the page before, while there is more.",
        .nullable(.string())
    )

    private static let ending = [
        JSONMember("token", .nullable(.string()), isRequired: true),
        JSONMember("cursor", .nullable(.string()), isRequired: true),
        JSONMember("more", .boolean, isRequired: true),
        JSONMember("reset", .nullable(.oneOfStrings(ChangeReset.allCases.map(\.rawValue))), isRequired: true),
    ]

    private static let errors: [ErrorCode] = [
        .permissionDenied, .resourceNotFound, .notSupported, .recordQueryInvalid, .recordQueryDenied, .invalidToken,
    ]
}
