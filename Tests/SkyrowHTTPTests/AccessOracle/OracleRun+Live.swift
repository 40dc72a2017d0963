import SkyrowTestSupport
import Testing

extension OracleRun {
    /// Reads a live query of all cards: those that are there, and those that are told of when every card changes.
    mutating func live(of client: OracleClient) async throws {
        let (initial, updated, sent) = try await events(of: client) {
            for title in ["beta", "alpha"] {
                let touched = try await world.service.call(
                    "record:update",
                    "{\"record_type\":\"card\",\"set\":{\"title\":\"\(title)\"},\"predicate\":[\"and\"],\"at_most\":1000}",
                    key: TestService.masterKey
                )
                #expect(touched["error"] == .null, "\(touched)")
            }
            // What comes after all of it, and everyone reads.
            let last = try await world.service.call(
                "record:save",
                #"{"records":[{"_id":"holder/last"}]}"#,
                key: TestService.masterKey
            )
            #expect(last["result"][0]["_type"].string == "record", "\(last)")
        }
        let deleted = try await world.service.call(
            "record:delete",
            #"{"ids":["holder/last"]}"#,
            key: TestService.masterKey
        )
        #expect(deleted["error"] == .null, "\(deleted)")
        compareLists("live", client, sent)
        compare("live:subscribe", client, .read, world.cards, found: initial)
        compare("live:changes", client, .read, world.cards, found: updated)
    }

    /// The ids of the cards that an event stream brings at its beginning, and from then on until the holder `last` is created.
    private func events(
        of client: OracleClient,
        changing body: () async throws -> Void
    ) async throws -> (initial: Set<String>, updated: Set<String>, sent: [JSONValue]) {
        var headers = [("Accept", "text/event-stream")]
        if let key = client.key { headers.append(("X-Skygear-API-Key", key)) }
        if let token = client.token { headers.append(("X-Skygear-Access-Token", token)) }
        return try await withConnection(port: world.service.port) { connection in
            let calls = [#""card","initial":true"#, #""holder""#].enumerated().map { place, rest in
                #"{"jsonrpc":"2.0","id":\#(place),"method":"live:subscribe","params":{"subscription":"\#(place)","record_type":\#(rest)}}"#
            }
            try await connection.post("/rpc", "[\(calls.joined(separator: ","))]", headers: headers)
            let head = try await connection.response(toHead: true)
            try #require(head["content-type"] == "text/event-stream", "\(head)")
            let events = EventLines(connection)
            var (initial, updated, ready) = (Set<String>(), Set<String>(), Set<String>())
            var sent: [JSONValue] = []
            while let (name, data) = try await events.next() {
                switch name {
                case "live:changes":
                    for change in data["changes"].elements {
                        let id = change["record"]["_id"].string ?? change["id"].string ?? ""
                        if id == "holder/last", change["event"].string == "created" { return (initial, updated, sent) }
                        guard id.hasPrefix("card/") else { continue }
                        sent.append(change["record"])
                        let isInitial = data["phase"].string == "initial"
                        #expect(isInitial || change["event"].string == "updated", "\(change)")
                        if isInitial {
                            initial.insert(String(id.dropFirst(5)))
                        } else {
                            updated.insert(String(id.dropFirst(5)))
                        }
                    }
                case "live:checkpoint" where data["ready"] == .boolean(true) && ready.count < 2:
                    ready.formUnion(["0", "1"].filter { data["subscriptions"][$0].string != nil })
                    if ready.count == 2 { try await body() }
                case "response":
                    try #require(data["error"] == .null, "\(data)")
                case "live:reset", "close":
                    throw UnexpectedResponse(response: "\(name) \(data)")
                default: break
                }
            }
            throw UnexpectedResponse(response: "The event stream has ended.")
        }
    }
}

/// Reads the events of an event stream from the chunks of a response.
private final class EventLines {
    private let connection: RawConnection
    private var text = ""
    private var count = 0

    init(_ connection: RawConnection) {
        self.connection = connection
    }

    /// The name and the data of the next event; nil at the end of the stream.
    func next() async throws -> (name: String, data: JSONValue)? {
        while true {
            if let end = text.firstRange(of: "\n\n") {
                let lines = text[..<end.lowerBound].split(separator: "\n")
                text = String(text[end.upperBound...])
                count += 1
                guard let name = lines.first(where: { $0.hasPrefix("event: ") })?.dropFirst(7),
                    let data = lines.first(where: { $0.hasPrefix("data: ") })?.dropFirst(6)
                else { continue }
                return (String(name), try JSONValue(String(data)))
            }
            let more: String
            do {
                more = try await connection.chunk()
            } catch is ConnectionEnded {
                throw UnexpectedResponse(response: "The connection has ended after \(count) events and “\(text)”.")
            }
            if more.isEmpty { return nil }
            text += more
        }
    }
}
