import SkyrowJSON
import SkyrowModel
import SkyrowProtocol

/// A message of the service in an event stream.
enum LiveNotice: Sendable {
    struct Change: Hashable, Sendable {
        enum Content: Hashable, Sendable {
            case event(LiveEvent)
            /// A change of a watched result.
            case result(WatchedChange)
        }

        var subscription: String
        var content: Content
        /// The length of its JSON in bytes.
        var byteCount: Int
    }

    /// The response to the call with this id; nil when the id is not that of a call.
    case response(id: Int?, SkyrowError?)
    /// The changes of a commit, or of a watched result; `wholeOf` is the subscription when they are its whole result.
    case changes([Change], wholeOf: String?)
    case checkpoint(tokens: [String: String], isReady: Bool)
    case reset(subscription: String, LiveReset, token: String?, pause: Duration?)
    /// The end of the stream, with the code that would close a WebSocket and the reconnection delay, if given.
    case closed(code: Int?, pause: Duration?)
    /// A message that this version does not define.
    case unknown
}

extension LiveNotice {
    /// Records may be nested deeper than requests.
    private static let depthLimit = 128

    /// Reads an event; throws `108 InvalidArgument` when it is malformed.
    init(_ event: EventStreamParser.Event) throws(SkyrowError) {
        guard ["response", "live:changes", "live:checkpoint", "live:reset", "close"].contains(event.name) else {
            self = .unknown
            return
        }
        let document: JSONDocument
        do throws(JSONParseError) {
            document = try JSONDocument(event.data, depthLimit: Self.depthLimit)
        } catch {
            throw .invalidArgument("\(error.description).")
        }
        self = try document.withRoot { root throws(SkyrowError) in
            switch event.name {
            case "response": LiveNotice.response(root)
            case "live:changes": try LiveNotice.changes(root)
            case "live:checkpoint": LiveNotice.checkpoint(root)
            case "close":
                .closed(code: root["code"]?.wholeNumber.flatMap { Int(exactly: $0) }, pause: LiveNotice.pause(root))
            default: try LiveNotice.reset(root)
            }
        }
    }

    /// A JSON-RPC response.
    static func response(_ json: JSONView) -> LiveNotice {
        let error = json["error"].flatMap { $0.isObject ? SkyrowError(rpc: $0) : nil }
        return .response(id: json["id"]?.wholeNumber.flatMap { Int(exactly: $0) }, error)
    }

    private static func changes(_ json: JSONView) throws(SkyrowError) -> LiveNotice {
        let isInitial = json["phase"]?.equals("initial") ?? false
        guard let list = json["changes"], list.isArray else {
            throw .invalidArgument("The notification must have changes.", "changes")
        }
        var changes: [Change] = []
        changes.reserveCapacity(list.count)
        for element in list.elements {
            guard let subscription = element["subscription"]?.string, let kind = element["event"]?.string else {
                throw .invalidArgument("A change must have subscription and event.", "changes")
            }
            guard let content = try content(kind, element, isInitial: isInitial) else { continue }
            changes.append(Change(subscription: subscription, content: content, byteCount: element.source.count))
        }
        return .changes(changes, wholeOf: isInitial ? json["subscription"]?.string : nil)
    }

    /// Returns nil for an event that this version does not define.
    private static func content(
        _ kind: String,
        _ json: JSONView,
        isInitial: Bool
    ) throws(SkyrowError) -> Change.Content? {
        if let change = try WatchedChange(kind, json) { return .result(change) }
        return try event(kind, json, isInitial: isInitial).map { .event($0) }
    }

    /// Returns nil for an event that this version does not define.
    private static func event(_ kind: String, _ json: JSONView, isInitial: Bool) throws(SkyrowError) -> LiveEvent? {
        guard let record = try json["record"].map({ json throws(SkyrowError) in try Record(json) }) else {
            guard let text = json["id"]?.string else {
                throw .invalidArgument("A change must have a record or an id.", "changes")
            }
            let id = try RecordID(text)
            switch kind {
            case "deleted": return .deleted(id)
            case "removed": return .removed(id)
            default: return nil
            }
        }
        if isInitial { return .initial(record) }
        switch kind {
        case "created": return .created(record)
        case "entered": return .entered(record, previous: previous(json))
        case "updated": return .updated(record, previous: previous(json))
        case "left": return .left(record, previous: previous(json))
        case "changed": return .changed(record)
        default: return nil
        }
    }

    private static func previous(_ json: JSONView) -> [FieldName: RecordValue] {
        var previous: [FieldName: RecordValue] = [:]
        for (name, value) in json["previous"]?.uniqueMembers ?? [] {
            guard let name = try? FieldName(name) else { continue }
            if value.isNull {
                previous[name] = .null
            } else {
                previous[name] = try? RecordValue(value, field: name.rawValue)
            }
        }
        return previous
    }

    private static func checkpoint(_ json: JSONView) -> LiveNotice {
        var tokens: [String: String] = [:]
        for (name, token) in json["subscriptions"]?.uniqueMembers ?? [] { tokens[name] = token.string }
        return .checkpoint(tokens: tokens, isReady: json["ready"]?.boolean ?? false)
    }

    private static func reset(_ json: JSONView) throws(SkyrowError) -> LiveNotice {
        guard let subscription = json["subscription"]?.string, let reason = json["reason"]?.string else {
            throw .invalidArgument("A reset must have subscription and reason.", "subscription")
        }
        return .reset(
            subscription: subscription,
            LiveReset(rawValue: reason),
            token: json["token"]?.string,
            pause: pause(json)
        )
    }

    /// Returns the reconnection delay.
    private static func pause(_ json: JSONView) -> Duration? {
        let seconds: Double? =
            switch json["retry_after"]?.number {
            case .integer(let seconds): Double(seconds)
            case .double(let seconds): seconds
            case .outOfRange, nil: nil
            }
        return seconds.map { .seconds(min(max($0, 0), LivePauses.longestAsked / .seconds(1))) }
    }
}
