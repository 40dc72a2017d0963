import SkyrowJSON
import SkyrowModel

/// The query of `GET /live`: the parameters of one `live:subscribe`, and the ticket that replaces headers.
///
/// ```swift
/// let query = try LiveQueryParameters(uri: #"/live?record_type=note&predicate=["eq",{"$type":"keypath","$val":"done"},false]"#)
/// query.call(since: nil)  // {"jsonrpc":"2.0","id":1,"method":"live:subscribe","params":{"subscription":"live",…}}
/// ```
struct LiveQueryParameters: Sendable {
    /// The token of `live:ticket`.
    private(set) var ticket: String?
    private var members: [(name: String, json: String)] = []

    /// Parameters with text values; those of others are JSON.
    private static let texts: Set<String> = ["record_type", "database_id"]
    private static let values: Set<String> = ["predicate", "desired_keys", "events", "watch", "previous", "initial"]

    /// Throws `108 InvalidArgument` for an unknown or duplicate parameter, and for a value that is not JSON.
    init(uri: String) throws(SkyrowError) {
        guard let start = uri.utf8.firstIndex(of: UInt8(ascii: "?")) else { return }
        var seen: Set<String> = []
        for pair in uri[uri.index(after: start)...].prefix(while: { $0 != "#" }).split(separator: "&") {
            let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard let name = FormFields.decoded(parts[0].utf8),
                let value = FormFields.decoded(parts.count > 1 ? parts[1].utf8 : "".utf8[...])
            else { throw .invalidArgument("The query string is not percent-encoded UTF-8.") }
            guard seen.insert(name).inserted else { throw .invalidArgument("The parameter is given twice.", name) }
            try add(name, value)
        }
    }

    private mutating func add(_ name: String, _ value: String) throws(SkyrowError) {
        switch name {
        case "live-query-token":
            ticket = value
        case "api_key", "access_token":
            throw .invalidArgument(
                "The query string cannot carry keys or tokens: send them in headers, or use a ticket of live:ticket.",
                name
            )
        case "since":
            // The id of an event is accepted here, too.
            let token = EventID(value).token
            if !token.isEmpty || value.isEmpty { add(name, text: token) }
        case _ where LiveQueryParameters.texts.contains(name):
            add(name, text: value)
        case _ where LiveQueryParameters.values.contains(name):
            guard LiveQueryParameters.isJSON(value) else {
                throw .invalidArgument("The value of this parameter must be JSON.", name)
            }
            members.append((name, value))
        default:
            throw .invalidArgument("The parameter is unknown.")
        }
    }

    private mutating func add(_ name: String, text: String) {
        let writer = JSONWriter(capacity: text.utf8.count + 2)
        writer.string(text)
        members.append((name, String(decoding: writer.bytes, as: UTF8.self)))
    }

    private static func isJSON(_ text: String) -> Bool {
        var text = text
        return text.withUTF8 { bytes in
            let isJSON = try? JSONDocument.read(UnsafeRawBufferPointer(bytes)) { _ in true }
            return isJSON ?? false
        }
    }

    /// Identifies the query, regardless of where its stream starts.
    var subject: String {
        members.lazy.filter { $0.name != "since" }.map { "\($0.name)=\($0.json)" }.sorted().joined(separator: "&")
    }

    /// The call as JSON-RPC.
    ///
    /// - Parameter since: The change token of `Last-Event-ID`, which is later than that of the address.
    func call(since: String?) -> String {
        var query = self
        if let since, !since.isEmpty {
            query.members.removeAll { $0.name == "since" }
            query.add("since", text: since)
        }
        let parameters = query.members.map { #","\#($0.name)":\#($0.json)"# }.joined()
        return #"{"jsonrpc":"2.0","id":1,"method":"live:subscribe","params":{"subscription":"live"\#(parameters)}}"#
    }
}

/// The id of an event: a change token, and the mark of a stream that a ticket opened.
///
/// Before the first change token it is the mark only, so that a stream interrupted until then can be resumed.
struct EventID: Sendable {
    let token: String
    let mark: String?

    init(_ text: String) {
        // A change token contains no period.
        let parts = text.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
        token = String(parts[0])
        mark = parts.count > 1 ? String(parts[1]) : nil
    }

    static func text(_ token: String, _ mark: String) -> String { "\(token).\(mark)" }
}
