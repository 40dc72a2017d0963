import SkyrowActions
import SkyrowPostgres
import SkyrowTestSupport
import Testing

/// Reads of one client that do not end, and what another client gets meanwhile.
@Suite struct ReadShareTests {
    /// Two reads at once, one of each client; one of each may wait.
    static let reads = ReadLimits(running: 2, waiting: 2, share: ClientShare(percent: 50), patience: .seconds(60))

    private func fetch(_ type: String, from source: String, of service: TestService, key: String = TestService.apiKey)
        async throws -> JSONValue
    {
        try await withConnection(port: service.port, from: source) { connection in
            let body = #"{"jsonrpc":"2.0","id":1,"method":"record:fetch","params":{"ids":["\#(type)/1"]}}"#
            try await connection.post("/rpc", body, headers: [("X-Skygear-API-Key", key)])
            return try JSONValue(try await connection.response().body)
        }
    }

    @Test func aClientWhoseReadsHangWaitsForItselfAlone() async throws {
        try await withService(reads: Self.reads) { service in
            let (_, token) = try await service.signUp("ann")
            let records = #"{"records":[{"_id":"note/1","title":"a"},{"_id":"memo/1","title":"a"}]}"#
            #expect(try await service.call("record:save", records, token: token)["error"] == .null)
            let reads = try await withPostgresClient(service.database.url) { holder in
                try await holder.withTransaction { transaction in
                    try await transaction.execute("LOCK TABLE app.note IN ACCESS EXCLUSIVE MODE")
                    let first = Task { try await fetch("note", from: "127.0.0.1", of: service) }
                    try await waiting(until: "the first read waits for the table") {
                        try await service.database.sessionsWaitingForALock() == 1
                    }
                    // Of the client's next two, one waits for its turn and one is too many.
                    let next = (0..<2).map { _ in Task { try await fetch("memo", from: "127.0.0.1", of: service) } }
                    let other = try await fetch("memo", from: "127.0.0.2", of: service)
                    #expect(other["result"][0]["title"].string == "a")
                    let master = try await fetch("memo", from: "127.0.0.1", of: service, key: TestService.masterKey)
                    #expect(master["result"][0]["title"].string == "a")
                    return [first] + next
                }
            }
            var codes: [Int?] = []
            for read in reads { codes.append(try await read.value["error"]["code"].integer) }
            #expect(codes[0] == nil)
            #expect(codes[1...].contains(nil))
            #expect(codes[1...].allSatisfy { $0 == nil || $0 == 131 })
        }
    }
}
