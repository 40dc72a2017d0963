import SkyrowModel

// The declarations of the actions that change records by their ids or by a predicate.

extension ActionCatalog {
    static let recordUpdate = ActionDescription(
        .recordUpdate,
        "Changes all records of one type that match a predicate, or some by their ids: all of them or none.",
        requirement: .userOrMaster,
        parameters: [
            ActionParameter("record_type", "The record type.", .string(maximum: 63), isRequired: true),
            ActionParameter(
                "set",
                "The fields to set, with values or operators, and _access.",
                .object([JSONMember("_access", accessList)], others: .named(.value)),
                isRequired: true
            ),
            database,
            ActionParameter("predicate", "What must hold of the records.", .nullable(.named(.predicate))),
            ActionParameter(
                "ids",
                "The records, instead of a predicate.",
                .nullable(.array(of: .named(.recordID), minimum: 1))
            ),
            atMost, dryRun, idempotencyKey,
        ],
        result: .object([JSONMember("updated", idList, isRequired: true)] + parts),
        errors: [
            .permissionDenied, .duplicated, .notSupported, .constraintViolated, .incompatibleSchema,
            .atomicOperationFailure, .recordQueryInvalid, .deniedArgument, .recordQueryDenied, .userDisabled,
            .idempotencyKeyReused, .outcomeUnknown,
        ],
        cost: .write,
        effect: .once
    )

    static let recordDelete = ActionDescription(
        .recordDelete,
        "Deletes records by their ids, or all of one type that match a predicate.",
        requirement: .userOrMaster,
        parameters: [
            ActionParameter(
                "ids",
                "Record ids.",
                .nullable(.array(of: .named(.recordID), minimum: 1))
            ),
            database, atomic,
            ActionParameter("record_type", "The record type, with a predicate.", .nullable(.string(maximum: 63))),
            ActionParameter(
                "predicate",
                "What must hold of the records, instead of ids: all of them are deleted, or none.",
                .nullable(.named(.predicate))
            ),
            atMost, dryRun, idempotencyKey,
        ],
        result: .either([
            .array(of: .either([.named(.deletedEntry), .named(.entryError)])),
            .object(
                [JSONMember("deleted", idList, isRequired: true)] + parts + [
                    JSONMember("dependents", idList), JSONMember("dependents_hidden", .integer(minimum: 1)),
                ]
            ),
        ]),
        errors: [
            .permissionDenied, .resourceNotFound, .notSupported, .constraintViolated, .atomicOperationFailure,
            .recordQueryInvalid, .recordQueryDenied, .userDisabled, .idempotencyKeyReused, .outcomeUnknown,
        ],
        cost: .write,
        effect: .once
    )

    private static let idList = JSONShape.array(of: .named(.recordID))

    /// The members of both results besides the changed records.
    private static let parts = [
        JSONMember("no_permission", idList, isRequired: true),
        JSONMember("not_found", idList, isRequired: true),
        JSONMember("conflict", idList, isRequired: true),
        JSONMember("count", .integer(minimum: 0), isRequired: true),
    ]

    private static let atMost = ActionParameter(
        "at_most",
        "How many records may match, required with a predicate; where more do, nothing is changed.",
        .nullable(.integer(minimum: 1, maximum: BulkRequest.maximumRecords))
    )
    private static let dryRun = ActionParameter(
        "dry_run",
        "Whether nothing is changed, and the result says what would be.",
        .nullable(.boolean)
    )
}
