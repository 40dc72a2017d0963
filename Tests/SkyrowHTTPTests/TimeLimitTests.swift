import SkyrowModel
import SkyrowPostgres
import SkyrowTestSupport
import Testing

/// `timeout_ms` of queries and aggregates.
@Suite(.timeLimit(.minutes(60))) struct TimeLimitTests {
    private static let calls = [
        ("record:query", ##"{"record_type":"task","timeout_ms":#}"##),
        ("record:aggregate", ##"{"record_type":"task","aggregates":{"n":["count"]},"timeout_ms":#}"##),
    ]

    private func withTask(_ body: @escaping @Sendable (TestService) async throws -> Void) async throws {
        try await withService { service in
            let ann = try await service.signUp("ann")
            _ = try await service.call("record:save", #"{"records":[{"_id":"task/1","days":1}]}"#, token: ann.token)
            try await body(service)
        }
    }

    @Test func aStatementThatWaitsTooLongIsCancelled() async throws {
        try await withTask { service in
            try await withPostgresClient(service.database.url) { client in
                try await client.withTransaction { other in
                    try await other.execute("LOCK TABLE app.task IN ACCESS EXCLUSIVE MODE")
                    for (method, members) in Self.calls {
                        let error = try await service.call(method, members.replacing("#", with: "20"))["error"]
                        #expect(error["code"].integer == 122 && error["data"]["name"].string == "ResponseTimeout")
                        #expect(error["data"]["info"]["arguments"].elements.map(\.string) == ["timeout_ms"])
                        #expect(error["data"]["info"]["cost_class"].string == "indexed")
                    }
                    try await waiting(until: "no statement of the service waits for the table") {
                        try await service.database.sessionsWaitingForALock() == 0
                    }
                }
            }
            // The service goes on.
            for (method, members) in Self.calls {
                #expect(try await service.call(method, members.replacing("#", with: "600000"))["error"] == .null)
            }
        }
    }

    @Test func aTimeIsAWholeNumberOfMilliseconds() async throws {
        try await withTask { service in
            let rows = [("0", 108), ("-1", 108), ("600001", 108), ("1.5", 108), ("\"1\"", 107), ("null", nil)]
            for (value, code) in rows {
                for (method, members) in Self.calls {
                    let response = try await service.call(method, members.replacing("#", with: value))
                    #expect(response["error"]["code"].integer == code, "\(method) \(value)")
                }
            }
        }
    }
}
