package import SkyrowModel

extension Actions {
    /// Creates records and merges fields into existing ones; the result has an outcome for each, in the order of the records.
    package static let recordSave = Action<SaveRequest, WriteResult<[RecordOutcome]>>(
        "record:save",
        "Creates records and merges fields into existing ones.",
        requires: .userOrMaster,
        scope: .records(.writing),
        stepUp: .when("to change the value of a login key"),
        cost: .write,
        errors: [
            .duplicated, .resourceNotFound, .notSupported, .constraintViolated, .incompatibleSchema,
            .atomicOperationFailure, .deniedArgument, .conflict, .idempotencyKeyReused, .outcomeUnknown,
        ],
        SaveRequest.form(.rpc),
        v1: SaveRequest.form(.v1),
        result: .write(.written),
        refusalMessage: { $0.refusalMessage }
    )

    /// Returns records by their ids; the result has an outcome for each, in the order of the ids.
    package static let recordFetch = Action<RecordIDsRequest, [RecordOutcome]>(
        "record:fetch",
        "Returns records by their ids.",
        requires: .keyOrToken,
        scope: .records(.reading),
        cost: .read,
        narrowing: ResultNarrowing(parameters: ["ids"], advice: "ask for fewer ids at once"),
        errors: [.permissionDenied, .resourceNotFound],
        RecordIDsRequest.form,
        unlisted: ["records"],
        result: .fetched
    )

    /// Returns the records of one type that match a predicate, in pages.
    package static let recordQuery = Action<QueryRequest, QueryAnswer<QueryResult>>(
        "record:query",
        "Returns the records of one type that match a predicate.",
        requires: .keyOrToken,
        scope: .records(.reading),
        cost: .read,
        narrowing: ResultNarrowing(
            parameters: ["limit", "include", "desired_keys"],
            advice: "lower limit, or name fewer include or desired_keys"
        ),
        errors: [.permissionDenied, .resourceNotFound, .notSupported, .recordQueryInvalid, .recordQueryDenied],
        QueryRequest.form(.rpc),
        v1: QueryRequest.form(.v1),
        result: .page,
        v1Result: Codec.writeV1
    )

    /// Computes counts, sums and other aggregates of the records of one type, in groups.
    package static let recordAggregate = Action<AggregateRequest, QueryAnswer<AggregateResult>>(
        "record:aggregate",
        "Computes counts, sums and other aggregates of the records of one type, in groups.",
        requires: .keyOrToken,
        scope: .records(.reading),
        cost: .read,
        narrowing: ResultNarrowing(parameters: ["limit"], advice: "lower limit"),
        errors: [.permissionDenied, .notSupported, .recordQueryInvalid, .recordQueryDenied],
        AggregateRequest.form(.rpc),
        v1: AggregateRequest.form(.v1),
        result: .groups
    )

    /// Changes all records of one type that match a predicate, or some by their ids, or none.
    package static let recordUpdate = Action<BulkRequest, WriteResult<BulkResult>>(
        "record:update",
        "Changes all records of one type that match a predicate, or some by their ids: all of them or none.",
        requires: .userOrMaster,
        scope: .records(.writing),
        cost: .write,
        errors: [
            .duplicated, .notSupported, .constraintViolated, .incompatibleSchema, .atomicOperationFailure,
            .recordQueryInvalid, .deniedArgument, .recordQueryDenied, .idempotencyKeyReused, .outcomeUnknown,
        ],
        BulkRequest.form(.rpc),
        v1: BulkRequest.form(.v1),
        result: .write(.updated),
        refusalMessage: { $0.refusalMessage }
    )

    /// Deletes records by their ids, or all of one type that match a predicate.
    package static let recordDelete = Action<RecordDeletion, WriteResult<DeletionResult>>(
        "record:delete",
        "Deletes records by their ids, or all of one type that match a predicate.",
        requires: .userOrMaster,
        scope: .records(.writing),
        cost: .write,
        errors: [
            .resourceNotFound, .notSupported, .constraintViolated, .atomicOperationFailure, .recordQueryInvalid,
            .recordQueryDenied, .idempotencyKeyReused, .outcomeUnknown,
        ],
        RecordDeletion.form,
        unlisted: ["records"],
        result: .write(.deletion),
        refusalMessage: { $0.refusalMessage }
    )
}
