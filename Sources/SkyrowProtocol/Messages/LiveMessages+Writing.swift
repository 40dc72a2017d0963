package import SkyrowJSON
package import SkyrowModel

extension JSONWriter {
    /// The parameters of `live:subscribe`; what is left out is the default.
    package func liveSubscribeParameters(_ request: LiveSubscribeRequest) {
        beginObject()
        key("subscription")
        string(request.name)
        databaseID(request.database)
        key("record_type")
        string(request.type.rawValue)
        if let predicate = request.predicate {
            key("predicate")
            self.predicate(predicate)
        }
        if let fields = request.desiredFields {
            key("desired_keys")
            strings(fields)
        }
        if request.events.count < LiveEventKind.allCases.count {
            key("events")
            strings(LiveEventKind.allCases.filter(request.events.contains).map(\.rawValue))
        }
        if let watched = request.watched {
            key("watch")
            strings(watched)
        }
        switch request.previous {
        case .none: break
        case .all:
            key("previous")
            boolean(true)
        case .fields(let names):
            key("previous")
            strings(names)
        }
        if let since = request.since {
            key("since")
            string(since)
        } else if request.sendsInitial {
            key("initial")
            boolean(true)
        }
        endObject()
    }

    /// The parameters of `live:watch`.
    package func liveWatchParameters(_ request: LiveWatchRequest) {
        beginObject()
        key("subscription")
        string(request.name)
        databaseID(request.database)
        switch request.subject {
        case .records(let query): queryMembers(query)
        case .groups(let query): aggregateMembers(query)
        }
        endObject()
    }
}
