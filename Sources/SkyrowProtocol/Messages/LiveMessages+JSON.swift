package import SkyrowJSON
package import SkyrowModel

extension LiveSubscribeRequest {
    /// Reads `live:subscribe`.
    package init(parameters json: JSONView, rules: ReadingRules = .rpc) throws(SkyrowError) {
        let parameters = Parameters(json)
        self.init(
            name: try Self.name(parameters),
            database: try parameters.database(),
            type: try parameters.recordType(),
            predicate: try condition(parameters, rules),
            desiredFields: try parameters.names("desired_keys"),
            events: try Self.events(parameters),
            watched: try parameters.names("watch"),
            previous: try Self.previous(parameters),
            sendsInitial: try parameters.boolean("initial") ?? false,
            since: try parameters.string("since")
        )
    }

    /// Reads the name of `live:unsubscribe`.
    package static func name(parameters json: JSONView) throws(SkyrowError) -> String {
        try name(Parameters(json))
    }

    private static func name(_ parameters: Parameters) throws(SkyrowError) -> String {
        let name = try parameters.required("subscription", parameters.string("subscription"))
        guard (1...nameBytes).contains(name.utf8.count) else {
            throw .invalidArgument("A subscription name must be 1 to \(nameBytes) bytes.", "subscription")
        }
        return name
    }

    private static func events(_ parameters: Parameters) throws(SkyrowError) -> Set<LiveEventKind> {
        guard let names = try parameters.names("events") else { return LiveEventKind.all }
        var events: Set<LiveEventKind> = []
        for name in names {
            guard let event = LiveEventKind(rawValue: name) else { throw wrongEvents }
            events.insert(event)
        }
        guard !events.isEmpty else { throw wrongEvents }
        return events
    }

    private static var wrongEvents: SkyrowError {
        .invalidArgument(
            "\"events\" must name at least one of \(LiveEventKind.allCases.map(\.rawValue).joined(separator: ", ")).",
            "events"
        )
    }

    private static func previous(_ parameters: Parameters) throws(SkyrowError) -> PreviousValues {
        guard let value = parameters["previous"] else { return .none }
        if let flag = value.boolean { return flag ? .all : .none }
        guard value.isArray else { throw parameters.wrongType("previous", "true, false or an array of fields") }
        return .fields(try parameters.names("previous") ?? [])
    }
}

extension LiveWatchRequest {
    /// Reads `live:watch`: the parameters of `record:aggregate` where it names aggregates, groups or a condition on them, those
    /// of `record:query` otherwise.
    package init(parameters json: JSONView, rules: ReadingRules = .rpc) throws(SkyrowError) {
        let parameters = Parameters(json)
        let name = try LiveSubscribeRequest.name(parameters: json)
        let refused: [StaticString] = ["explain", "after", "before", "timeout_ms"]
        for parameter in refused where parameters[parameter] != nil {
            throw .invalidArgument("A live query cannot have \"\(parameter)\".", "\(parameter)")
        }
        let grouping: [StaticString] = ["aggregates", "group_by", "having"]
        if grouping.contains(where: { parameters[$0] != nil }) {
            self.init(
                name: name,
                database: try parameters.database(),
                .groups(try AggregateQuery(parameters, rules))
            )
            return
        }
        let query = try RecordQuery(parameters, rules: rules)
        guard query.includeForm == .nested else {
            throw .invalidArgument(
                "A live query returns included records nested only; remove \"include_form\".",
                "include_form"
            )
        }
        self.init(name: name, database: try parameters.database(), .records(query))
    }
}

extension JSONWriter {
    /// The result of `live:subscribe`, `{"subscription": "s1", "source": "logical"}`.
    package func liveSubscribed(_ result: LiveSubscribed) {
        beginObject()
        key("subscription")
        string(result.name)
        key("source")
        string(result.source.rawValue)
        endObject()
    }
}
