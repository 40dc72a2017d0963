import SkyrowActions
import SkyrowPostgres
import SkyrowTestSupport
import Testing

/// Reads of one client that do not end, and what another client gets meanwhile.
@Suite struct ReadShareTests {
    /// Two reads at once, one of each client; one of each may wait.
    static let reads = ReadLimits(running: 2, waiting: 2, share: ClientShare(percent: 50), patience: testPatience)

    private func call(
        _ method: String,
        _ parameters: String,
        from source: String,
        of service: TestService,
        token: String? = nil,
        key: String = TestService.apiKey
    ) async throws -> JSONValue {
        try await withConnection(port: service.port, from: source) { connection in
            let body = #"{"jsonrpc":"2.0","id":1,"method":"\#(method)","params":\#(parameters)}"#
            var headers = [("X-Skygear-API-Key", key)]
            if let token { headers.append(("X-Skygear-Access-Token", token)) }
            try await connection.post("/rpc", body, headers: headers)
            return try JSONValue(try await connection.response().body)
        }
    }

    private static let fetchOfMemo = ("record:fetch", #"{"ids":["memo/1"]}"#)

    /// Whatever looks for records has its turn among the reads.
    @Test(arguments: [
        fetchOfMemo,
        ("record:query", #"{"record_type":"memo"}"#),
        (
            "record:update",
            #"{"record_type":"memo","predicate":["eq",{"$type":"keypath","$val":"title"},"a"],"set":{"title":"b"},"at_most":5}"#
        ),
        (
            "record:delete",
            #"{"record_type":"memo","predicate":["eq",{"$type":"keypath","$val":"title"},"a"],"at_most":5}"#
        ),
    ]) func aClientWhoseReadsHangWaitsForItselfAlone(method: String, parameters: String) async throws {
        try await withService(reads: Self.reads) { service in
            let (_, token) = try await service.signUp("ann")
            let records = #"{"records":[{"_id":"note/1","title":"a"},{"_id":"memo/1","title":"a"}]}"#
            #expect(try await service.call("record:save", records, token: token)["error"] == .null)
            let codes = try await withPostgresClient(service.database.url) { holder in
                try await withThrowingTaskGroup { answers in
                    let first = try await holder.withTransaction { transaction in
                        try await transaction.execute("LOCK TABLE app.note IN ACCESS EXCLUSIVE MODE")
                        let first = Task {
                            try await call("record:fetch", #"{"ids":["note/1"]}"#, from: "127.0.0.1", of: service)
                        }
                        try await waiting(until: "the first read waits for the table") {
                            try await service.database.sessionsWaitingForALock() == 1
                        }
                        // Of the client's next two, one waits for its turn and one is too many.
                        for _ in 0..<2 {
                            answers.addTask {
                                try await call(method, parameters, from: "127.0.0.1", of: service, token: token)
                            }
                        }
                        let refused = try await answers.next()
                        #expect(refused?["error"]["code"].integer == 131)
                        let (fetch, memo) = Self.fetchOfMemo
                        let other = try await call(fetch, memo, from: "127.0.0.2", of: service)
                        #expect(other["result"][0]["title"].string == "a")
                        let key = TestService.masterKey
                        let master = try await call(fetch, memo, from: "127.0.0.1", of: service, key: key)
                        #expect(master["result"][0]["title"].string == "a")
                        return first
                    }
                    return [
                        try await first.value["error"]["code"].integer,
                        try await answers.next()?["error"]["code"].integer,
                    ]
                }
            }
            #expect(codes == [nil, nil])
        }
    }
}
