import SkyrowModel

// The declarations of `live:*`.

extension ActionCatalog {
    static let liveSubscribe = ActionDescription(
        .liveSubscribe,
        "Begins to send the changes of the records of one type that match a predicate, over the connection of the call.",
        requirement: .keyOrToken,
        parameters: [
            subscription,
            ActionParameter("record_type", "The record type.", .string(maximum: 63), isRequired: true),
            database,
            ActionParameter(
                "predicate",
                "What must hold of a record by its own fields; all match without it.",
                .nullable(.named(.predicate))
            ),
            ActionParameter(
                "desired_keys",
                "The user fields to send; all of them when missing.",
                .nullable(.array(of: .string()))
            ),
            ActionParameter(
                "events",
                "The events to send; all of them when missing.",
                .nullable(.array(of: .oneOfStrings(LiveEventKind.allCases.map(\.rawValue)), minimum: 1))
            ),
            ActionParameter(
                "watch",
                "The fields whose changes count as updated; all of them when missing.",
                .nullable(.array(of: .string()))
            ),
            ActionParameter(
                "previous",
                "Whether the old values of changed fields come along, or which fields' do.",
                .nullable(.either([.boolean, .array(of: .string())]))
            ),
            ActionParameter(
                "initial",
                "Whether the records that match at the beginning are sent first.",
                .nullable(.boolean)
            ),
            ActionParameter(
                "since",
                "A change token, from which the subscription goes on; initial means nothing beside it.",
                .nullable(.string())
            ),
        ],
        result: .object([
            JSONMember("subscription", .string(maximum: LiveSubscribeRequest.nameBytes), isRequired: true),
            JSONMember("source", .oneOfStrings(LiveSourceName.allCases.map(\.rawValue)), isRequired: true),
        ]),
        errors: [
            .permissionDenied, .duplicated, .resourceNotFound, .notSupported, .recordQueryInvalid, .recordQueryDenied,
            .invalidToken,
        ],
        cost: .read,
        effect: .reads
    )

    static let liveUnsubscribe = ActionDescription(
        .liveUnsubscribe,
        "Ends a subscription of the connection of the call.",
        requirement: .keyOrToken,
        parameters: [subscription],
        result: .named(.status),
        errors: [.permissionDenied, .resourceNotFound, .notSupported],
        cost: .write,
        effect: .reads
    )

    static let liveWatch = ActionDescription(
        .liveWatch,
        "Begins to send what a query or an aggregate returns, over the connection of the call, and then how that changes.",
        requirement: .keyOrToken,
        parameters: [subscription]
            + recordQuery.parameters.filter {
                !["include_form", "after", "before", "explain", "timeout_ms"].contains($0.name)
            } + recordAggregate.parameters.filter { ["group_by", "aggregates", "having"].contains($0.name) },
        result: liveSubscribe.result,
        errors: [
            .permissionDenied, .duplicated, .resourceNotFound, .notSupported, .recordQueryInvalid, .recordQueryDenied,
        ],
        cost: .read,
        effect: .reads
    )

    private static let subscription = ActionParameter(
        "subscription",
        "The client's name for the subscription, 1 to 64 bytes.",
        .string(maximum: LiveSubscribeRequest.nameBytes),
        isRequired: true
    )
}
