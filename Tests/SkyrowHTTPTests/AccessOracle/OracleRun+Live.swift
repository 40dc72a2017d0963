import SkyrowTestSupport
import Testing

extension OracleRun {
    /// Reads a live query of all cards: those that are there, those that are told of when every card changes, and what is said of a
    /// card that gets another owner and list.
    ///
    /// - Parameter hasPrevious: whether the log has the records before.
    mutating func live(of client: OracleClient, hasPrevious: Bool) async throws {
        let service = world.service
        let phases = try await events(of: client, hasPrevious) { number in
            switch number {
            case 0:
                for title in ["beta", "alpha"] {
                    let touched = try await service.call(
                        "record:update",
                        "{\"record_type\":\"card\",\"set\":{\"title\":\"\(title)\"},\"predicate\":[\"and\"],\"at_most\":1000}",
                        key: TestService.masterKey
                    )
                    #expect(touched["error"] == .null, "\(touched)")
                }
            default: try await OracleWorld.move(by: number == 1 ? Self.distance : -Self.distance, in: service)
            }
        }
        let cards = world.cards
        let (initial, updated) = (Set(phases[0].map(\.id)), Set(phases[1].map(\.id)))
        compareLists("live", client, (phases[0] + phases[1]).map(\.record))
        compare("live:subscribe", client, .read, cards, found: initial)
        compare("live:changes", client, .read, cards, found: updated)
        #expect(phases[1].allSatisfy { $0.kind == "updated" && ($0.old != nil) == hasPrevious })
        // Each card that is public has the owner and the list of another one meanwhile.
        let moved = OracleWorld.moved(cards, by: Self.distance)
        for (events, before, after) in [(phases[2], cards, moved), (phases[3], moved, cards)] {
            func visible(_ records: [OracleRecord]) -> Set<String> {
                Set(records.filter { oracle.decide(client.subject, .read, $0).answer == .yes }.map(\.id))
            }
            let (could, can) = (visible(before), visible(after))
            for (kind, expected) in [
                ("updated", could.intersection(can)), ("entered", can.subtracting(could)),
                ("deleted", could.subtracting(can)),
            ] {
                let found = events.filter { $0.kind == kind }
                // A record is said to change where its list or owner does, or its title.
                #expect(Set(found.map(\.id)) == expected, "seed \(seed): \(kind) for \(client.subject)")
                // What it was is said of what could be read alone.
                let hasOld = kind == "updated" && hasPrevious
                let wrong = found.filter { ($0.old != nil) != hasOld }.map(\.id)
                #expect(wrong.isEmpty, "seed \(seed): previous of \(kind) for \(client.subject): \(wrong)")
            }
            countCases(cards.count)
        }
        let names = phases.indices.dropFirst().map { "\"holder/last\($0 - 1)\"" }.joined(separator: ",")
        let deleted = try await service.call("record:delete", "{\"ids\":[\(names)]}", key: TestService.masterKey)
        #expect(deleted["error"] == .null, "\(deleted)")
    }

    /// How far owners and lists move: no multiple of what the cards repeat by.
    private static let distance = 11

    /// An event about a card.
    private struct Event {
        let id: String
        let kind: String
        let record: JSONValue
        /// The old title.
        let old: String?
    }

    /// What an event stream says of cards, at its beginning and after each of three changes.
    private func events(
        of client: OracleClient,
        _ hasPrevious: Bool,
        changing body: (Int) async throws -> Void
    ) async throws -> [[Event]] {
        var phases: [[Event]]?
        try await waiting(until: "changes are streamed") {
            phases = try await streamedEvents(of: client, hasPrevious, changing: body)
            return phases != nil
        }
        return phases ?? []
    }

    /// The same; nil, and nothing is changed, where the stream has not begun, which waits for all writers of the server.
    private func streamedEvents(
        of client: OracleClient,
        _ hasPrevious: Bool,
        changing body: (Int) async throws -> Void
    ) async throws -> [[Event]]? {
        var headers = [("Accept", "text/event-stream")]
        if let key = client.key { headers.append(("X-Skygear-API-Key", key)) }
        if let token = client.token { headers.append(("X-Skygear-Access-Token", token)) }
        func change(_ number: Int) async throws {
            try await body(number)
            // What comes after all of it, and everyone reads.
            let last = try await world.service.call(
                "record:save",
                "{\"records\":[{\"_id\":\"holder/last\(number)\"}]}",
                key: TestService.masterKey
            )
            #expect(last["result"][0]["_type"].string == "record", "\(last)")
        }
        return try await withConnection(port: world.service.port) { connection in
            let calls = [#""card","initial":true,"previous":\#(hasPrevious)"#, #""holder""#].enumerated().map {
                place,
                rest in
                #"{"jsonrpc":"2.0","id":\#(place),"method":"live:subscribe","params":{"subscription":"\#(place)","record_type":\#(rest)}}"#
            }
            try await connection.post("/rpc", "[\(calls.joined(separator: ","))]", headers: headers)
            let head = try await connection.response(toHead: true)
            try #require(head["content-type"] == "text/event-stream", "\(head)")
            let events = EventLines(connection)
            var phases: [[Event]] = [[]]
            var ready: Set<String> = []
            while let (name, data) = try await events.next() {
                switch name {
                case "live:changes":
                    for item in data["changes"].elements {
                        let id = item["record"]["_id"].string ?? item["id"].string ?? ""
                        if id.hasPrefix("holder/last"), item["event"].string == "created" {
                            if phases.count == 4 { return phases }
                            phases.append([])
                            try await change(phases.count - 2)
                        }
                        guard id.hasPrefix("card/") else { continue }
                        #expect((data["phase"].string == "initial") == (phases.count == 1), "\(item)")
                        phases[phases.count - 1].append(
                            Event(
                                id: String(id.dropFirst(5)),
                                kind: item["event"].string ?? "",
                                record: item["record"],
                                old: item["previous"]["title"].string
                            )
                        )
                    }
                case "live:checkpoint" where data["ready"] == .boolean(true) && ready.count < 2:
                    ready.formUnion(["0", "1"].filter { data["subscriptions"][$0].string != nil })
                    if ready.count == 2 {
                        phases.append([])
                        try await change(0)
                    }
                case "response":
                    let answers = data.elements
                    if phases.count == 1, answers.contains(where: { $0["error"]["code"].integer == 135 }) { return nil }
                    try #require(answers.map { $0["result"]["source"].string } == ["logical", "logical"], "\(data)")
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
    private var bytes: ArraySlice<UInt8> = []
    private var count = 0

    init(_ connection: RawConnection) {
        self.connection = connection
    }

    /// The name and the data of the next event; nil at the end of the stream.
    func next() async throws -> (name: String, data: JSONValue)? {
        var searched = bytes.startIndex
        while true {
            if let end = emptyLine(from: searched) {
                let lines = bytes[..<end].split(separator: UInt8(ascii: "\n"))
                bytes = bytes[(end + 2)...]
                searched = bytes.startIndex
                count += 1
                guard let name = lines.lazy.compactMap({ $0.text(after: "event: ") }).first,
                    let data = lines.lazy.compactMap({ $0.text(after: "data: ") }).first
                else { continue }
                return (name, try JSONValue(data))
            }
            let length = bytes.count
            let more: String
            do {
                more = try await connection.chunk()
            } catch is ConnectionEnded {
                throw UnexpectedResponse(
                    response: "The connection has ended after \(count) events and \(length) bytes."
                )
            }
            if more.isEmpty { return nil }
            // An array from its first element on, so that what was read is not kept.
            bytes = ArraySlice(Array(bytes) + more.utf8)
            searched = max(0, length - 1)
        }
    }

    /// The place of the first of two line feeds.
    private func emptyLine(from start: Int) -> Int? {
        bytes.withUnsafeBufferPointer { buffer in
            var place = start - bytes.startIndex
            while place + 1 < buffer.count {
                if buffer[place] == 0x0A, buffer[place + 1] == 0x0A { return place + bytes.startIndex }
                place += 1
            }
            return nil
        }
    }
}

extension ArraySlice<UInt8> {
    /// The rest of a line that begins so; nil for another line.
    fileprivate func text(after prefix: StaticString) -> String? {
        let prefix = Array("\(prefix)".utf8)
        return starts(with: prefix) ? String(decoding: dropFirst(prefix.count), as: UTF8.self) : nil
    }
}
