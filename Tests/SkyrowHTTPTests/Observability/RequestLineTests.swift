import Logging
import NIOCore
import NIOHTTP1
import SkyrowModel
import SkyrowProtocol
import SkyrowTestSupport
import Testing

@testable import SkyrowHTTP

/// What the line about a request says of it.
@Suite struct RequestLineTests {
    private static let trace = "4bf92f3577b34da6a3ce929d0e0e4736"

    @Test func aLineSaysWhoAskedAndHowItFailed() async throws {
        let lines = LogLines()
        let ann = try await withService(logger: lines.logger) { service in
            let ann = try await service.signUp("ann")
            lines.removeAll()
            _ = try await service.call("record:fetch", #"{"ids":["note/1"]}"#, token: ann.token)
            _ = try await service.call("record:fetch", #"{"ids":[]}"#)
            _ = try await service.rpc(#"[{"jsonrpc":"2.0","id":1,"method":"me"}]"#, token: ann.token)
            return ann
        }
        let requests = lines.all.filter { $0.hasPrefix("Request ") }
        try #require(requests.count == 3)
        #expect(requests[0].contains("user_id=\(ann.id)") && !requests[0].contains("error_code"))
        #expect(!requests[1].contains("user_id") && requests[1].contains("error_code=108"))
        #expect(requests[2].contains("user_id=\(ann.id)") && requests[2].contains("calls=1"))
    }

    @Test(
        arguments: [
            (RequestOutcome.health(isHealthy: true), .debug), (.health(isHealthy: false), .info),
            (.failure(SkyrowError(.invalidArgument, "No."), in: .v1, status: .badRequest, .home), .info),
            (.failure(SkyrowError(.unexpectedError, "No."), in: .v1, status: .internalServerError, .home), .error),
        ] as [(RequestOutcome, Logger.Level)]
    )
    func whatWatchersAskEverySecondIsForDebugging(outcome: RequestOutcome, level: Logger.Level) {
        #expect(RequestLog.level(of: outcome) == level)
    }

    @Test(
        arguments: [
            (true, 0, 0, #"{"status":"OK"}"#),
            (true, 12, 0, #"{"status":"OK","held_back":{"reads":12,"writes":0}}"#),
            (true, 0, 3, #"{"status":"OK","held_back":{"reads":0,"writes":3}}"#),
            (false, 12, 3, #"{"status":"Unavailable"}"#),
        ]
    )
    func readinessCountsWhatWaitsForLocks(isReady: Bool, reads: Int, writes: Int, body: String) {
        let response = RequestOutcome.readiness(isReady: isReady, heldBack: (reads: reads, writes: writes)).response
        #expect(response.status == (isReady ? .ok : .serviceUnavailable))
        #expect(response.bytes(for: nil).map { String(buffer: $0) } == body)
    }

    @Test func aLineHasTheTraceOfItsCaller() async throws {
        let lines = LogLines()
        try await withService(logger: lines.logger) { service in
            for field in ["00-\(Self.trace)-00f067aa0ba902b7-01", "00-\(Self.trace)-00f067aa0ba902b7-0x"] {
                try await withConnection(port: service.port) { connection in
                    try await connection.get("/healthz", headers: [("traceparent", field)])
                    _ = try await connection.response()
                }
            }
        }
        let requests = lines.all.filter { $0.hasPrefix("Request ") }
        #expect(requests.map { $0.contains("trace_id=\(Self.trace)") } == [true, false])
    }

    /// Whatever is logged on the way has the request's id, its action and its trace.
    @Test func linesOnTheWayLeadToTheirRequest() async throws {
        let lines = LogLines()
        try await withService(logger: lines.logger) { service in
            try await withConnection(port: service.port) { connection in
                try await connection.post(
                    "/rpc",
                    #"{"jsonrpc":"2.0","id":1,"method":"me"}"#,
                    headers: [
                        ("x-skygear-api-key", "wrong"), ("x-request-id", "r7"),
                        ("traceparent", "00-\(Self.trace)-00f067aa0ba902b7-01"),
                    ]
                )
                _ = try await connection.response()
            }
        }
        let refusals = lines.all.filter { $0.hasPrefix("Credentials were refused") }
        try #require(refusals.count == 1)
        #expect(refusals[0].contains("request_id=r7"))
        #expect(refusals[0].contains("action=me"))
        #expect(refusals[0].contains("trace_id=\(Self.trace)"))
    }
}
