import NIOCore
import NIOHPACK
import NIOHTTP2
import SkyrowModel
import SkyrowTestSupport
import Testing

@testable import SkyrowHTTP

/// What short requests may make the server hold: results are counted while they are collected and written.
@Suite struct ResponseLimitTests {
    private static let limits = HTTPLimits(responseBytes: 1_000_000, responseMemory: 8_000_000)

    /// 50 records of 100 KB, and 20 that refer to the first.
    private func fill(_ service: TestService) async throws {
        let token = try await service.signUp("ann").token
        let saved = try await service.call(
            "record:save",
            #"{"records":[{"_id":"big/0","text":"x"},{"_id":"link/0","to":{"$type":"ref","$id":"big/0"}}]}"#,
            token: token
        )
        #expect(saved["result"][1]["_id"].string == "link/0")
        try await service.database.psql(
            """
            SET search_path = app, app_internal;
            UPDATE big SET text = repeat('x', 100000);
            INSERT INTO big (_id, _owner, text) SELECT n, (SELECT _owner FROM big LIMIT 1), repeat('y', 100000)
            FROM generate_series(1, 49) AS n;
            INSERT INTO link (_id, _owner, "to") SELECT n, (SELECT _owner FROM big LIMIT 1), '0'
            FROM generate_series(1, 19) AS n;
            """
        )
    }

    private func fetch(_ ids: some Sequence<Int>) -> String {
        #"{"ids":[\#(ids.map { #""big/\#($0)""# }.joined(separator: ","))]}"#
    }

    private static let includes: String = {
        let names = (0..<32).map { #""i\#($0)":{"$type":"keypath","$val":"to"}"# }
        return "{\(names.joined(separator: ","))}"
    }()

    @Test func shortRequestsForLongResultsAreRefused() async throws {
        try await withService(limits: Self.limits) { service in
            try await fill(service)
            let rows: [(action: String, parameters: String, arguments: [String]?)] = [
                ("record:fetch", fetch(0..<9), nil),
                ("record:fetch", fetch(repeatElement(0, count: 9)), nil),
                ("record:fetch", fetch(repeatElement(0, count: 4300)), ["ids"]),
                ("record:fetch", fetch((0..<1500).map { $0 % 50 }), ["ids"]),
                ("record:query", #"{"record_type":"big","limit":9}"#, nil),
                ("record:query", #"{"record_type":"big","desired_keys":[]}"#, nil),
                ("record:query", #"{"record_type":"big"}"#, ["limit", "include", "desired_keys"]),
                (
                    "record:query",
                    #"{"record_type":"link","include":{"a":{"$type":"keypath","$val":"to"}},"limit":9}"#, nil
                ),
                (
                    "record:query", #"{"record_type":"link","include":\#(Self.includes),"limit":5}"#,
                    ["limit", "include", "desired_keys"]
                ),
                (
                    "record:query", #"{"record_type":"link","include":\#(Self.includes)}"#,
                    ["limit", "include", "desired_keys"]
                ),
            ]
            for (action, parameters, arguments) in rows {
                let response = try await service.call(action, parameters)
                let error = response["error"]
                if let arguments {
                    #expect(error["code"].integer == 132, "\(parameters.prefix(80))")
                    #expect(error["data"]["info"]["arguments"].elements.map(\.string) == arguments)
                    #expect(error["data"]["info"]["limit"].integer == 1_000_000)
                } else {
                    #expect(error == .null, "\(parameters.prefix(80))")
                }
                let v1 = try await service.v1("/" + action.replacing(":", with: "/"), parameters)
                #expect(v1.status == (arguments == nil ? 200 : 413))
            }
            let memory = service.responder.responseMemory
            #expect(memory.largest <= 4_000_000)
            try await waiting(until: "all results are given up") { memory.bytes == 0 }
        }
    }

    @Test func theCallsOfABatchShareOneBound() async throws {
        try await withService(limits: Self.limits) { service in
            try await fill(service)
            let calls = (0..<100).map {
                #"{"jsonrpc":"2.0","id":\#($0),"method":"record:fetch","params":\#(fetch([$0 % 50]))}"#
            }
            let response = try await service.rpc("[\(calls.joined(separator: ","))]")
            #expect(response.body.utf8.count < 1_100_000)
            let responses = try JSONValue(response.body).elements
            #expect(responses.count == 100)
            // Ten do not fit; one that would may meet others that are being written.
            let results = responses.filter { $0["result"] != .null }.count
            #expect((8...9).contains(results))
            #expect(responses.filter { $0["error"]["code"].integer == 132 }.count == 100 - results)
        }
    }

    /// Merges that are a few bytes each come back with all their fields, as far as there is room.
    @Test func aSaveIsDoneHoweverLongItsRecordsAre() async throws {
        try await withService(limits: Self.limits) { service in
            try await fill(service)
            let records = (0..<50).map { #"{"_id":"big/\#($0)","mark":1}"# }.joined(separator: ",")
            for (key, extra) in [("", ""), ("", #","atomic":true"#), ("k", #","idempotency_key":"k""#)] {
                let parameters = #"{"records":[\#(records)]\#(extra)}"#
                let first = try await service.rpc(
                    #"{"jsonrpc":"2.0","id":1,"method":"record:save","params":\#(parameters)}"#,
                    key: TestService.masterKey
                )
                #expect(first.body.utf8.count < 1_300_000)
                let entries = try JSONValue(first.body)["result"].elements
                try #require(entries.count == 50, "\(extra): \(first.body.prefix(400))")
                #expect(entries[0]["text"].string?.count == 100_000)
                for (index, entry) in entries.enumerated() {
                    #expect(entry["_id"].string == "big/\(index)")
                    #expect(entry["_type"].string == "record")
                    #expect(entry["_fields_omitted"] == (entry["text"] == .null ? .boolean(true) : .null))
                }
                #expect(entries[49]["_fields_omitted"] == .boolean(true))
                if !key.isEmpty {
                    let again = try await service.rpc(
                        #"{"jsonrpc":"2.0","id":1,"method":"record:save","params":\#(parameters)}"#,
                        key: TestService.masterKey
                    )
                    #expect(again.body == first.body)
                }
            }
            let count = try await service.database.psql("SELECT count(*) FROM app.big WHERE mark = 1")
            #expect(count == "50")
            let memory = service.responder.responseMemory
            try await waiting(until: "all results are given up") { memory.bytes == 0 }
        }
    }

    /// A client that asks for much and reads none of it fills its own share of the memory, and no more.
    @Test func overHTTP2ResultsThatAreNotReadAreBounded() async throws {
        let certificate = try await TestCertificate()
        try await withService(limits: Self.limits, certificate: certificate.server(), client: certificate.client()) {
            service in
            try await fill(service)
            let memory = service.responder.responseMemory
            let client = try certificate.client(protocols: ["h2"])
            try await withHTTP2(port: service.port, tls: client, window: 0) { connection in
                let body = #"{"jsonrpc":"2.0","id":1,"method":"record:fetch","params":\#(fetch(0..<8))}"#
                let ids = (0..<60).map { HTTP2StreamID(2 * $0 + 1) }
                for id in ids {
                    try await connection.post(
                        "/rpc",
                        body,
                        on: id,
                        headers: [("x-skygear-api-key", TestService.apiKey)]
                    )
                }
                var large = 0
                for _ in ids {
                    let frame = try #require(try await connection.frame())
                    guard case .headers(let content) = frame.payload else { continue }
                    let length = content.headers["content-length"].first.flatMap { Int($0) } ?? 0
                    large += length > 800_000 ? 1 : 0
                    #expect(length > 800_000 || length < 1000)
                }
                #expect((1...5).contains(large))
                #expect(memory.largest <= 4_000_000)
                #expect(memory.bytes >= 700_000)
                // Short results are as ever.
                let short = try await service.call("record:fetch", #"{"ids":["link/1"]}"#)
                #expect(short["result"][0]["_id"].string == "link/1")
            }
            // The connection has closed on this side; the server sees that a moment later.
            try await waiting(until: "the results of a closed connection are given up") { memory.bytes == 0 }
        }
    }

    /// A hundred clients, each from an address of its own, ask for the largest result there is, and read when all have asked and
    /// results wait for them.
    @Test func aHundredClientsThatAskForTheLargestResultsAreBounded() async throws {
        let certificate = try await TestCertificate()
        try await withService(limits: Self.limits, certificate: certificate.server(), client: certificate.client()) {
            service in
            try await fill(service)
            let memory = service.responder.responseMemory
            let body = #"{"jsonrpc":"2.0","id":1,"method":"record:fetch","params":\#(fetch(0..<9))}"#
            let key = [("x-skygear-api-key", TestService.apiKey)]
            let http1 = try certificate.client()
            let http2 = try certificate.client(protocols: ["h2"])
            let asked = Counter()
            @Sendable func waitForTheOthers() async throws {
                asked.increment()
                try await waiting(until: "all have asked, and results wait") {
                    asked.value == 100 && memory.largest > Self.limits.responseMemory / 4
                }
            }
            let lengths = try await withThrowingTaskGroup(of: Int.self) { group in
                for number in 0..<100 {
                    let source = "127.0.1.\(number + 1)"
                    group.addTask {
                        if number.isMultiple(of: 2) {
                            return try await withConnection(port: service.port, from: source, tls: http1) {
                                connection in
                                try await connection.post("/rpc", body, headers: key)
                                try await waitForTheOthers()
                                return try await connection.response().body.utf8.count
                            }
                        }
                        return try await withHTTP2(
                            port: service.port,
                            from: source,
                            tls: http2,
                            window: 1000
                        ) { connection in
                            try await connection.post("/rpc", body, on: 1, headers: key)
                            try await waitForTheOthers()
                            try await connection.send(1, .windowUpdate(windowSizeIncrement: 10_000_000))
                            return try await connection.response(on: 1).body.utf8.count
                        }
                    }
                }
                return try await group.reduce(into: [Int]()) { $0.append($1) }
            }
            // Some have the whole result, and the others an error that says that there is no room for it now.
            let whole = lengths.filter { $0 > 900_000 }.count
            #expect(whole > 0)
            #expect(lengths.allSatisfy { $0 > 900_000 || (1..<1000).contains($0) }, "\(lengths)")
            #expect(memory.largest <= Self.limits.responseMemory)
            try await waiting(until: "all results are given up") { memory.bytes == 0 }
        }
    }
}
