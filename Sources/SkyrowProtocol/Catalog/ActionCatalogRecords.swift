import SkyrowModel

// The declarations of `record:*`.

extension ActionCatalog {
    static let recordSave = ActionDescription(
        .recordSave,
        "Creates records and merges fields into existing ones.",
        requirement: .userOrMaster,
        stepUp: .when("for another value of a login key"),
        parameters: [
            ActionParameter(
                "records",
                "The records to save.",
                .array(of: .named(.recordDraft), minimum: 1),
                isRequired: true
            ),
            database, atomic,
            ActionParameter(
                "return",
                "What the result has of each saved record: all of it, or its id, its revision and the fields that operators "
                    + "changed.",
                .oneOfStrings(ReturnedMembers.allCases.map(\.rawValue))
            ),
            ActionParameter(
                "update_only",
                "Whether a record that does not exist is an error of its own and not created.",
                .nullable(.boolean)
            ),
            idempotencyKey,
        ],
        result: .array(of: .named(.recordEntry)),
        errors: [
            .permissionDenied, .duplicated, .resourceNotFound, .notSupported, .constraintViolated,
            .incompatibleSchema, .atomicOperationFailure, .deniedArgument, .userDisabled, .conflict,
            .idempotencyKeyReused, .outcomeUnknown,
        ],
        cost: .write,
        effect: .once
    )

    static let recordFetch = ActionDescription(
        .recordFetch,
        "Returns records by their ids.",
        requirement: .keyOrToken,
        parameters: [
            ActionParameter(
                "ids",
                "Record ids.",
                .array(of: .named(.recordID), minimum: 1),
                isRequired: true
            ),
            database,
        ],
        result: .array(of: .named(.recordEntry)),
        errors: [.permissionDenied, .resourceNotFound],
        cost: .read,
        effect: .reads,
        narrowing: ResultNarrowing(parameters: ["ids"], advice: "ask for fewer ids at once")
    )

    static let recordQuery = ActionDescription(
        .recordQuery,
        "Returns the records of one type that match a predicate.",
        requirement: .keyOrToken,
        parameters: [
            ActionParameter(
                "record_type",
                "The record type; `_role` for roles.",
                .string(maximum: 63),
                isRequired: true
            ),
            database,
            ActionParameter(
                "predicate",
                "What must hold; everything matches without it.",
                .nullable(.named(.predicate))
            ),
            ActionParameter(
                "sort",
                "The order, as key paths with a direction and, where it is not the usual one, the place of missing values.",
                .nullable(sortKeys)
            ),
            ActionParameter(
                "include",
                "Referenced records, and distances, to send along in _transient, by name: a key path, true for that of the name, "
                    + "an object, or a function.",
                .nullable(.object([], others: .either([.named(.keyPath), .boolean, inclusion, .array(of: .any)])))
            ),
            ActionParameter(
                "include_form",
                "Where the included records are: nested in _transient, which is the default, or each once in a table beside the "
                    + "records; JSON-RPC only.",
                .nullable(.oneOfStrings(IncludeForm.allCases.map(\.rawValue)))
            ),
            ActionParameter(
                "select",
                "The user fields to send; all of them when missing.",
                .nullable(.array(of: .string()))
            ),
            ActionParameter(
                "omit",
                "The fields to leave out, metadata such as _id too.",
                .nullable(.array(of: .string()))
            ),
            ActionParameter("desired_keys", "The same as select.", .nullable(.array(of: .string()))),
            ActionParameter(
                "limit",
                "How many records to send, 100 when missing.",
                .nullable(.integer(minimum: 0, maximum: RecordQuery.maximumLimit))
            ),
            ActionParameter(
                "offset",
                "How many records to skip.",
                .nullable(.integer(minimum: 0, maximum: RecordQuery.maximumOffset))
            ),
            ActionParameter("after", "A cursor; the page begins behind its place.", .nullable(.string())),
            ActionParameter("before", "A cursor; the page ends before its place.", .nullable(.string())),
            ActionParameter("last", "Whether the page ends with the last record.", .nullable(.boolean)),
            ActionParameter("required", "Whether a page without records is an error.", .nullable(.boolean)),
            ActionParameter(
                "count",
                "Whether info.count says how many records match; an estimate where it says so.",
                .nullable(.either([.boolean, .oneOfStrings(["estimate"])]))
            ),
            explanation,
            timeLimit,
        ],
        result: .array(of: .named(.record)),
        included: .object([], others: .named(.record)),
        info: .object([
            JSONMember("count", .integer(minimum: 0)),
            JSONMember("count_kind", .oneOfStrings(["exact", "estimate", "at_least"])),
            JSONMember("cursor", .nullable(.string()), isRequired: true),
            JSONMember("has_more", .boolean, isRequired: true),
        ]),
        errors: [.permissionDenied, .resourceNotFound, .notSupported, .recordQueryInvalid, .recordQueryDenied],
        cost: .read,
        effect: .reads,
        narrowing: ResultNarrowing(
            parameters: ["limit", "include", "desired_keys"],
            advice: "lower limit, or name fewer include or desired_keys"
        )
    )

    static let recordAggregate = ActionDescription(
        .recordAggregate,
        "Computes counts, sums and other aggregates of the records of one type, in groups.",
        requirement: .keyOrToken,
        parameters: [
            ActionParameter("record_type", "The record type.", .string(maximum: 63), isRequired: true),
            database,
            ActionParameter(
                "predicate",
                "What must hold of the records; all count without it.",
                .nullable(.named(.predicate))
            ),
            ActionParameter(
                "group_by",
                "What the records of a group have in common, by name: key paths, or stretches of time.",
                .nullable(.object([], others: .either([.named(.keyPath), timeBucket])))
            ),
            ActionParameter(
                "aggregates",
                "What to compute of each group, by name: a function and a key path.",
                .nullable(
                    .object(
                        [],
                        others: .tuple(
                            [.oneOfStrings(Aggregate.Function.allCases.map(\.rawValue))],
                            rest: .named(.keyPath)
                        )
                    )
                )
            ),
            ActionParameter(
                "having",
                "What must hold of a group, whose fields are the names of keys and aggregates.",
                .nullable(.named(.predicate))
            ),
            ActionParameter(
                "sort",
                "The order of the groups, by such names; their keys come last.",
                .nullable(
                    .array(
                        of: .tuple(
                            [.named(.keyPath), .oneOfStrings(["asc", "desc"])],
                            rest: .oneOfStrings(["nulls_first", "nulls_last"])
                        )
                    )
                )
            ),
            ActionParameter(
                "limit",
                "How many groups to send, 100 when missing.",
                .nullable(.integer(minimum: 0, maximum: AggregateQuery.maximumLimit))
            ),
            explanation,
            timeLimit,
        ],
        result: .object([
            JSONMember("groups", .array(of: .object([], others: .named(.value))), isRequired: true),
            JSONMember(
                "info",
                .object([JSONMember("has_more", .boolean, isRequired: true)]),
                isRequired: true
            ),
        ]),
        errors: [.permissionDenied, .notSupported, .recordQueryInvalid, .recordQueryDenied],
        cost: .read,
        effect: .reads,
        narrowing: ResultNarrowing(parameters: ["limit"], advice: "lower limit")
    )

    private static let sortKeys = JSONShape.array(
        of: .tuple(
            [.either([.named(.keyPath), .array(of: .any)]), .oneOfStrings(["asc", "desc"])],
            rest: .oneOfStrings(["nulls_first", "nulls_last"])
        )
    )

    /// An inclusion: `{"path": …, "limit": 20}`.
    private static let inclusion = JSONShape.object([
        JSONMember("path", .named(.keyPath), isRequired: true),
        JSONMember("select", .nullable(.array(of: .string()))),
        JSONMember("omit", .nullable(.array(of: .string()))),
        JSONMember("sort", .nullable(sortKeys)),
        JSONMember("limit", .nullable(.integer(minimum: 1, maximum: Inclusion.maximumLimit))),
        JSONMember("count", .nullable(.boolean)),
    ])

    private static let timeBucket = JSONShape.object([
        JSONMember("bucket", .oneOfStrings(TimeBucket.Unit.allCases.map(\.rawValue)), isRequired: true),
        JSONMember("of", .named(.keyPath), isRequired: true),
        JSONMember("time_zone", .nullable(.string(maximum: 255))),
    ])

    static let database = ActionParameter(
        "database_id",
        "The database: _public (also when missing), _private, a user id, or _union.",
        .nullable(.string(maximum: 255))
    )
    private static let explanation = ActionParameter(
        "explain",
        "true for how PostgreSQL would find the answer instead of that, analyze to run it too; for the master key.",
        .nullable(.either([.boolean, .oneOfStrings([ExplainMode.analyze.rawValue])]))
    )

    private static let timeLimit = ActionParameter(
        "timeout_ms",
        "How many milliseconds the database may work at it; the service's own limit holds as well.",
        .nullable(.integer(minimum: 1, maximum: 600_000))
    )
    static let atomic = ActionParameter(
        "atomic",
        "Whether one failure undoes the whole request.",
        .nullable(.boolean)
    )
    static let idempotencyKey = ActionParameter(
        "idempotency_key",
        "A text of up to 64 bytes that the caller chose; a retry with it gets the first result, for 24 hours.",
        .nullable(.string(maximum: 64))
    )
}
