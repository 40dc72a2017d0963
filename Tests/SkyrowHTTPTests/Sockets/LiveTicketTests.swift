import NIOCore
import SkyrowTestSupport
import Testing

@testable import SkyrowHTTP

/// Tokens that open one event stream each, and the addresses that carry them.
@Suite struct LiveTicketTests {
    /// The error of a request for a stream; nil where there is a stream.
    private func error(_ service: TestService, _ query: String, headers: [(String, String)] = []) async throws -> Int? {
        try await withConnection(port: service.port) { connection in
            try await connection.get("/live?\(query)", headers: headers)
            let head = try await connection.response(toHead: true)
            guard head["content-type"] != "text/event-stream" else { return nil }
            let length = try #require(head["content-length"].flatMap { Int($0) })
            let body = String(buffer: try await connection.bytes(length))
            return try JSONValue(body)["error"]["code"].integer
        }
    }

    private func ticket(_ service: TestService, _ token: String) async throws -> String {
        let response = try await service.call("live:ticket", "{}", token: token)
        return try #require(response["result"]["token"].string)
    }

    @Test func aTicketCountsOnce() async throws {
        try await withService { service in
            let ann = try await service.signUp("ann")
            let ticket = try await ticket(service, ann.token)
            let query = "record_type=note&live-query-token=\(ticket)"
            #expect(try await error(service, query) != 134)
            #expect(try await error(service, query) == 134)
            #expect(try await service.database.psql("SELECT count(*) FROM app_internal._live_ticket") == "0")
        }
    }

    @Test func itEndsWithItsSessionAndAfterAMinute() async throws {
        try await withService { service in
            let ann = try await service.signUp("ann")
            let old = try await ticket(service, ann.token)
            _ = try await service.database.psql(
                "UPDATE app_internal._live_ticket SET expires_at = now() - interval '1 second'"
            )
            #expect(try await error(service, "record_type=note&live-query-token=\(old)") == 134)
            let ofSession = try await ticket(service, ann.token)
            _ = try await service.call("auth:logout", "{}", token: ann.token)
            #expect(try await error(service, "record_type=note&live-query-token=\(ofSession)") == 134)
            #expect(try await error(service, "record_type=note&live-query-token=lt_none") == 134)
        }
    }

    @Test func onlyItsHashIsStoredAndASessionHasAHundred() async throws {
        try await withService { service in
            let ann = try await service.signUp("ann")
            let first = try await ticket(service, ann.token)
            let rows = try await service.database.psql(
                "SELECT count(*) FROM app_internal._live_ticket WHERE token_hash = sha256('\(first)')"
            )
            #expect(rows == "1")
            for _ in 0..<100 { _ = try await ticket(service, ann.token) }
            #expect(try await service.database.psql("SELECT count(*) FROM app_internal._live_ticket") == "100")
            #expect(try await error(service, "record_type=note&live-query-token=\(first)") == 134)
        }
    }

    @Test func itOpensNothingElse() async throws {
        try await withService { service in
            let ann = try await service.signUp("ann")
            let ticket = try await ticket(service, ann.token)
            #expect(try await service.call("me", "{}", token: ticket)["error"]["code"].integer == 104)
            // A master key is for no page.
            let master = try await service.call("live:ticket", "{}", key: TestService.masterKey)
            #expect(master["error"]["code"].integer == 101)
        }
    }

    @Test func withoutALogInItStandsForTheKey() async throws {
        try await withService { service in
            let response = try await service.call("live:ticket", "{}")
            let ticket = try #require(response["result"]["token"].string)
            #expect(!ticket.contains(TestService.apiKey))
            // The type does not exist, which only those are told who may ask.
            #expect(try await error(service, "record_type=note&live-query-token=\(ticket)") != 134)
            #expect(try await error(service, "record_type=note&live-query-token=\(ticket)") != 103)
            #expect(try await error(service, "record_type=note&live-query-token=\(ticket)x") == 134)
            #expect(try await service.call("me", "{}", token: ticket)["error"]["code"].integer == 104)
            #expect(try await service.database.psql("SELECT count(*) FROM app_internal._live_ticket") == "0")
        }
    }

    struct BadQuery: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let query: String
        let code: Int
    }

    private static let badQueries: [BadQuery] = [
        BadQuery(testDescription: "without credentials", query: "record_type=note", code: 101),
        BadQuery(testDescription: "a token in the address", query: "record_type=note&access_token=x", code: 108),
        BadQuery(testDescription: "a key in the address", query: "record_type=note&api_key=x", code: 108),
        BadQuery(testDescription: "no such parameter", query: "record_type=note&predicat=x", code: 108),
        BadQuery(testDescription: "a parameter twice", query: "record_type=note&record_type=note", code: 108),
        BadQuery(testDescription: "no JSON", query: "record_type=note&predicate=%5B%22eq", code: 108),
        BadQuery(testDescription: "JSON that goes on", query: "record_type=note&initial=true%2C%22x%22%3A1", code: 108),
        BadQuery(testDescription: "no UTF-8", query: "record_type=%FF", code: 108),
    ]

    @Test func badQueriesAreRefused() async throws {
        try await withService { service in
            for row in Self.badQueries {
                let code = try await error(service, row.query)
                #expect(code == row.code, "\(row)")
                #expect(try await service.rpc("[]").status == 200, "\(row)")
            }
        }
    }

    @Test func aQueryIsOneSubscription() throws {
        let uri = "/live?record_type=note&predicate=%5B%22eq%22%2C%7B%7D%2C+1%5D&since=A%22B&live-query-token=t"
        let query = try LiveQueryParameters(uri: uri)
        #expect(query.ticket == "t")
        let parameters = try JSONValue(query.call(since: nil))["params"]
        #expect(parameters["subscription"].string == "live")
        #expect(parameters["record_type"].string == "note")
        #expect(parameters["predicate"].elements.count == 3)
        #expect(parameters["since"].string == #"A"B"#)
        #expect(try JSONValue(query.call(since: "later"))["params"]["since"].string == "later")
        #expect(try JSONValue(query.call(since: ""))["params"]["since"].string == #"A"B"#)
    }

    @Test func theIDOfAnEventIsATokenAndAMark() throws {
        #expect(EventID("AQ-_.mark").token == "AQ-_" && EventID("AQ-_.mark").mark == "mark")
        #expect(EventID("AQ").token == "AQ" && EventID("AQ").mark == nil)
        #expect(EventID(EventID.text("", "mark")).token.isEmpty)
        let since = try LiveQueryParameters(uri: "/live?record_type=note&since=AQ.mark")
        #expect(try JSONValue(since.call(since: nil))["params"]["since"].string == "AQ")
        let beginning = try LiveQueryParameters(uri: "/live?record_type=note&since=.mark")
        #expect(try JSONValue(beginning.call(since: ""))["params"]["since"] == .null)
        // Where it begins makes it no other query.
        let same = try LiveQueryParameters(uri: "/live?since=AQ&live-query-token=t&record_type=note")
        #expect(same.subject == beginning.subject)
        #expect(try LiveQueryParameters(uri: "/live?record_type=task").subject != same.subject)
    }

    @Test func anEventStreamTakesSubscriptionsAlone() async throws {
        try await withService { service in
            func send(_ body: String, accept: String) async throws -> JSONValue {
                try await withConnection(port: service.port) { connection in
                    try await connection.post(
                        "/rpc",
                        body,
                        headers: [("x-skygear-api-key", TestService.apiKey), ("accept", accept)]
                    )
                    return try JSONValue(try await connection.response().body)
                }
            }
            let call = #"{"jsonrpc":"2.0","id":1,"method":"record:fetch","params":{"ids":["note/1"]}}"#
            #expect(try await send(call, accept: "text/event-stream")["error"]["code"].integer == 108)
            #expect(try await send("[\(call)]", accept: "text/event-stream")["error"]["code"].integer == 108)
            #expect(try await send("{", accept: "text/event-stream")["error"]["code"].integer == 108)
            let both = try await send(call, accept: "application/json, text/event-stream")
            #expect(both["result"].elements.count == 1)
        }
    }
}
