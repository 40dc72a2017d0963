import SkyrowJSON
package import SkyrowModel

/// What `live:subscribe` sends: the changes of the records of a query.
package struct LiveSubscribeRequest: Hashable, Sendable {
    /// The old values that are sent with a change.
    package enum PreviousValues: Hashable, Sendable {
        case none
        case all
        /// The old values of these fields.
        case fields([String])
    }

    /// Upper bound on the bytes of a subscription's name.
    fileprivate static let nameBytes = 64

    /// The client's name for the subscription, 1 to 64 bytes.
    package var name: String
    package var database: DatabaseName
    package var type: RecordTypeName
    package var predicate: RecordPredicate?
    /// The user fields of the sent records; nil for all.
    package var desiredFields: [String]?
    /// The events to send.
    package var events: Set<LiveEventKind>
    /// The fields whose changes count as `updated`; nil for all.
    package var watched: [String]?
    package var previous: PreviousValues
    /// Whether to send the records that match at the start; ignored when ``since`` is given.
    package var sendsInitial: Bool
    /// The change token from which the subscription continues, as it was sent.
    package var since: String?

    package init(
        name: String,
        database: DatabaseName = .everyone,
        type: RecordTypeName,
        predicate: RecordPredicate? = nil,
        desiredFields: [String]? = nil,
        events: Set<LiveEventKind> = LiveEventKind.all,
        watched: [String]? = nil,
        previous: PreviousValues = .none,
        sendsInitial: Bool = false,
        since: String? = nil
    ) {
        self.name = name
        self.database = database
        self.type = type
        self.predicate = predicate
        self.desiredFields = desiredFields
        self.events = events
        self.watched = watched
        self.previous = previous
        self.sendsInitial = sendsInitial
        self.since = since
    }
}

/// What `live:watch` keeps current: the result of a query.
package struct LiveWatchRequest: Sendable {
    /// The query that is run again when something has changed.
    package enum Subject: Hashable, Sendable {
        /// `record:query`
        case records(RecordQuery)
        /// `record:aggregate`
        case groups(AggregateQuery)

        /// The type of the queried records.
        package var type: RecordTypeName {
            switch self {
            case .records(let query): query.type
            case .groups(let query): query.type
            }
        }
    }

    /// The client's name for the subscription, 1 to 64 bytes.
    package var name: String
    package var database: DatabaseName
    package var subject: Subject

    package init(name: String, database: DatabaseName = .everyone, _ subject: Subject) {
        self.name = name
        self.database = database
        self.subject = subject
    }
}

extension Actions {
    /// Sends the changes of the records of a query over the connection of the call.
    package static let liveSubscribe = Action<LiveSubscribeRequest, LiveSubscribed>(
        "live:subscribe",
        "Starts to send the changes of the records of one type that match a predicate, over the connection of the call.",
        requires: .keyOrToken,
        scope: .records(.reading),
        cost: .read,
        needsConnection: true,
        errors: errorsOfLiveQueries + [.invalidToken],
        LiveSubscribeRequest.form(.rpc),
        v1: LiveSubscribeRequest.form(.v1),
        result: .liveSubscribed
    )

    /// Ends a subscription of the connection; the parameter is its name.
    package static let liveUnsubscribe = Action<String, Void>(
        "live:unsubscribe",
        "Ends a subscription of the connection of the call.",
        requires: .keyOrToken,
        scope: .records(.reading),
        cost: .write,
        effect: .reads,
        needsConnection: true,
        errors: [.permissionDenied, .resourceNotFound, .notSupported],
        LiveSubscribeRequest.nameForm,
        result: .status
    )

    /// Sends the result of a query over the connection of the call, and then how it changes.
    package static let liveWatch = Action<LiveWatchRequest, LiveSubscribed>(
        "live:watch",
        "Sends the result of a query or an aggregate over the connection of the call, and then the changes of the result.",
        requires: .keyOrToken,
        scope: .records(.reading),
        cost: .read,
        needsConnection: true,
        errors: errorsOfLiveQueries,
        LiveWatchRequest.form(.rpc),
        v1: LiveWatchRequest.form(.v1),
        result: .liveSubscribed
    )

    private static let errorsOfLiveQueries: [ErrorCode] = [
        .permissionDenied, .duplicated, .resourceNotFound, .notSupported, .recordQueryInvalid, .recordQueryDenied,
    ]
}

// MARK: live:subscribe

extension LiveSubscribeRequest {
    /// The name of a subscription, which every action of it has.
    fileprivate static let nameForm = Form("subscription", .subscriptionName, "The client's name for the subscription.")

    fileprivate static func form(_ rules: ReadingRules) -> Form<LiveSubscribeRequest> {
        Form(nameForm.members + members) { json throws(SkyrowError) in
            let parameters = Parameters(json)
            return LiveSubscribeRequest(
                name: try nameForm.read(json),
                database: try parameters.database(),
                type: try parameters.recordType(),
                predicate: try condition(parameters, rules),
                desiredFields: try parameters.names("desired_keys"),
                events: try events(parameters),
                watched: try parameters.names("watch"),
                previous: try previous(parameters),
                sendsInitial: try parameters.boolean("initial") ?? false,
                since: try parameters.string("since")
            )
        } write: { request, writer in
            request.write(to: writer)
        }
    }

    private static let members = [
        .recordType, .database, .recordCondition, .desiredKeys,
        MemberDescription(
            "events",
            "The events to send; by default all.",
            .nullable(.array(of: .oneOfStrings(LiveEventKind.allCases.map(\.rawValue)), minimum: 1))
        ),
        MemberDescription(
            "watch",
            "The fields whose changes count as `updated`; by default all.",
            .nullable(.array(of: .string()))
        ),
        MemberDescription(
            "previous",
            "Whether to send the old values of changed fields, or the fields whose old values to send.",
            .nullable(.either([.boolean, .array(of: .string())]))
        ),
        MemberDescription("initial", "Whether the matching records are sent first.", .nullable(.boolean)),
        MemberDescription(
            "since",
            "A change token of the same query, from which it continues; `initial` then has no effect.",
            .nullable(.string())
        ),
    ]

    private static func events(_ parameters: Parameters) throws(SkyrowError) -> Set<LiveEventKind> {
        guard let names = try parameters.names("events") else { return LiveEventKind.all }
        let events = names.map { LiveEventKind(rawValue: $0) }
        guard !events.isEmpty, !events.contains(nil) else {
            let kinds = LiveEventKind.allCases.map(\.rawValue).joined(separator: ", ")
            throw .invalidArgument("\"events\" must name at least one of \(kinds).", "events")
        }
        return Set(events.compactMap { $0 })
    }

    private static func previous(_ parameters: Parameters) throws(SkyrowError) -> PreviousValues {
        guard let value = parameters["previous"] else { return .none }
        if let flag = value.boolean { return flag ? .all : .none }
        guard value.isArray else { throw parameters.wrongType("previous", "true, false or an array of fields") }
        return .fields(try parameters.names("previous") ?? [])
    }

    /// What is left out is the default.
    private func write(to writer: JSONWriter) {
        writer.beginObject()
        writer.member("subscription", name)
        writer.databaseID(database)
        writer.recordType(type, matching: predicate)
        writer.desiredKeys(desiredFields)
        if events.count < LiveEventKind.allCases.count {
            writer.member("events", LiveEventKind.allCases.filter(events.contains).map(\.rawValue))
        }
        if let watched { writer.member("watch", watched) }
        switch previous {
        case .none: break
        case .all: writer.member("previous", true)
        case .fields(let names): writer.member("previous", names)
        }
        if let since {
            writer.member("since", since)
        } else if sendsInitial {
            writer.member("initial", true)
        }
        writer.endObject()
    }
}

// MARK: live:watch

extension LiveWatchRequest {
    /// The parameters of `record:aggregate` where it names aggregates, groups or a condition on them, and those of `record:query`
    /// otherwise.
    fileprivate static func form(_ rules: ReadingRules) -> Form<LiveWatchRequest> {
        Form(LiveSubscribeRequest.nameForm.members + members) { json throws(SkyrowError) in
            let name = try LiveSubscribeRequest.nameForm.read(json)
            let parameters = Parameters(json)
            for parameter in refused where parameters[parameter] != nil {
                throw .invalidArgument("A live query cannot have \"\(parameter)\".", "\(parameter)")
            }
            if grouping.contains(where: { parameters[$0] != nil }) {
                let database = try parameters.database()
                return LiveWatchRequest(name: name, database: database, .groups(try AggregateQuery(parameters, rules)))
            }
            let query = try RecordQuery(parameters, rules: rules)
            guard query.includeForm == .nested else {
                throw .invalidArgument(
                    "A live query returns included records nested only; remove \"include_form\".",
                    "include_form"
                )
            }
            return LiveWatchRequest(name: name, database: try parameters.database(), .records(query))
        } write: { request, writer in
            writer.beginObject()
            writer.member("subscription", request.name)
            writer.databaseID(request.database)
            switch request.subject {
            case .records(let query): writer.queryMembers(query)
            case .groups(let query): writer.aggregateMembers(query)
            }
            writer.endObject()
        }
    }

    /// Parameters of `record:query` that it does not have.
    private static let refused: [StaticString] = ["explain", "after", "before", "timeout_ms"]
    private static let grouping: [StaticString] = ["group_by", "aggregates", "having"]

    private static var members: [MemberDescription] {
        let left = refused.map { "\($0)" } + ["include_form"]
        let added = grouping.map { "\($0)" }
        let parameters =
            Actions.recordQuery.parameters.members.filter { !left.contains($0.name) }
            + Actions.recordAggregate.parameters.members.filter { added.contains($0.name) }
        return parameters.map { MemberDescription($0.name, $0.summary, $0.shape, isRequired: $0.isRequired) }
    }
}

// MARK: Results

/// The source of changes.
package enum LiveSourceName: String, Hashable, Sendable, CaseIterable {
    /// PostgreSQL streams them.
    case logical
    /// The service polls for them.
    case polling
}

/// A subscription that has begun.
package struct LiveSubscribed: Hashable, Sendable {
    package let name: String
    package let source: LiveSourceName

    package init(name: String, source: LiveSourceName) {
        self.name = name
        self.source = source
    }
}

extension Codec<LiveSubscribed> {
    /// `{"subscription": "s1", "source": "logical"}`
    fileprivate static let liveSubscribed = object(
        Form(
            LiveSubscribed.init(name:source:),
            Member("subscription", \.name, .subscriptionName),
            Member("source", \.source, .oneOf)
        )
    )
}

extension Codec<String> {
    fileprivate static let subscriptionName = text(.string(maximum: LiveSubscribeRequest.nameBytes)) { _ in
        "A subscription name must be 1 to \(LiveSubscribeRequest.nameBytes) bytes."
    } isFit: {
        (1...LiveSubscribeRequest.nameBytes).contains($0.utf8.count)
    }
}
