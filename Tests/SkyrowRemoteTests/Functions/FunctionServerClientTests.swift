import SkyrowTestSupport
import Testing

@testable import SkyrowRemote

/// Calls of function servers that answer, and of those that misbehave.
@Suite struct FunctionServerClientTests {
    private static let body = Array(#"{"kind":"op","name":"é"}"#.utf8)

    private func client(
        _ server: TemporaryFunctionServer,
        _ path: String,
        maximumResponse: Int = 1 << 20
    ) throws -> FunctionServerClient {
        FunctionServerClient(
            to: try #require(FunctionAddress(server.address + path)),
            signer: WebhookSigner(secret: WebhookSigner.secret(ofServer: "main", masterKey: "master")),
            maximumResponse: maximumResponse
        )
    }

    private func fault(
        _ server: TemporaryFunctionServer,
        _ path: String,
        within time: Duration = patience
    ) async throws -> FunctionFault {
        let client = try client(server, path)
        let fault = await #expect(throws: FunctionFault.self) {
            try await client.response(to: Self.body, within: time)
        }
        return try #require(fault)
    }

    @Test(arguments: [false, true], ["/echo", "/http10", "/error"])
    func aServerAnswersWithAnyStatusAndVersion(_ isOnSocket: Bool, _ path: String) async throws {
        try await withFunctionServer(onSocket: isOnSocket) { server in
            let client = try client(server, path)
            for _ in 0..<3 {
                let response = try await client.response(to: Self.body, within: patience)
                #expect(response == Self.body)
            }
            let empty = try await client.response(to: [], within: patience)
            #expect(empty.isEmpty)
        }
    }

    @Test func aLargeBodyArrivesWhole() async throws {
        try await withFunctionServer { server in
            let body = (0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 % 95 + 32) }
            let client = try client(server, "/echo", maximumResponse: body.count)
            let response = try await client.response(to: body, within: patience)
            #expect(response == body)
        }
    }

    @Test func callsAreSignedAndNamed() async throws {
        try await withFunctionServer { server in
            let client = try client(server, "/fields")
            let response = try await client.response(
                to: Self.body,
                requestID: "r-1",
                traceParent: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
                within: patience
            )
            let text = String(decoding: response, as: UTF8.self)
            for part in [
                #""content-type": "application/json""#, #""x-skygear-request-id": "r-1""#,
                #""traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01""#, #""webhook-id": "msg_"#,
                #""webhook-signature": "v1,"#, #""webhook-timestamp": ""#,
            ] {
                #expect(text.contains(part), "\(part) in \(text)")
            }
            #expect(!text.contains("expect") && !text.contains("accept-encoding"))
            // What would begin another field is not sent.
            let forged = try await client.response(to: Self.body, requestID: "r\r\nx: y", within: patience)
            #expect(!String(decoding: forged, as: UTF8.self).contains("request-id"))
        }
    }

    @Test func aRedirectIsAnAnswer() async throws {
        try await withFunctionServer { server in
            let response = try await client(server, "/redirect").response(to: Self.body, within: patience)
            #expect(response == Array("elsewhere".utf8))
            let log = try server.log()
            #expect(log.count == 1)
        }
    }

    @Test func aResponseIsReadToItsBoundOnly() async throws {
        try await withFunctionServer { server in
            #expect(try await fault(server, "/large") == .tooLarge)
            let exact = try client(server, "/echo", maximumResponse: Self.body.count)
            let response = try await exact.response(to: Self.body, within: patience)
            #expect(response == Self.body)
            let short = try client(server, "/echo", maximumResponse: Self.body.count - 1)
            await #expect(throws: FunctionFault.tooLarge) {
                try await short.response(to: Self.body, within: patience)
            }
        }
    }

    @Test(arguments: ["/hang", "/bytes"])
    func aSlowAnswerEndsWithTheTimeOfTheCall(_ path: String) async throws {
        try await withFunctionServer { server in
            #expect(try await fault(server, path, within: .milliseconds(300)) == .late)
            // The connection is closed, which a server can notice.
            try await waiting(until: "the connection is closed") {
                try server.log().contains { $0 == "\(path) closed" || $0 == "broken" }
            }
        }
    }

    @Test func aCancelledCallClosesItsConnection() async throws {
        try await withFunctionServer { server in
            let client = try client(server, "/hang")
            let call = Task { () async -> FunctionFault? in
                do throws(FunctionFault) {
                    _ = try await client.response(to: Self.body, within: patience)
                    return nil
                } catch {
                    return error
                }
            }
            try await waiting(until: "the call has arrived") { try !server.log().isEmpty }
            call.cancel()
            let fault = await call.value
            #expect(fault == .cancelled)
            try await waiting(until: "the connection is closed") { try server.log().contains("/hang closed") }
        }
    }

    @Test(arguments: ["/close", "/half"])
    func aConnectionThatEndsIsNoAnswer(_ path: String) async throws {
        try await withFunctionServer { server in
            guard case .lost = try await fault(server, path) else {
                Issue.record("The call was not lost.")
                return
            }
        }
    }

    @Test func aCallIsNotSentTwice() async throws {
        try await withFunctionServer { server in
            let client = try client(server, "/second")
            // The second call finds a kept connection, on which libcurl would repeat it.
            let first = try await client.response(to: Self.body, within: patience)
            #expect(first == Self.body)
            let second = await #expect(throws: FunctionFault.self) {
                try await client.response(to: Self.body, within: patience)
            }
            guard case .lost? = second else {
                Issue.record("The call was \(String(describing: second)).")
                return
            }
            let log = try server.log()
            #expect(log.count == 2, "\(log)")
        }
    }

    @Test func whatIsNotHTTPIsUnreadable() async throws {
        try await withFunctionServer { server in
            guard case .unreadable = try await fault(server, "/garbage") else {
                Issue.record("The answer was read.")
                return
            }
        }
    }

    @Test(arguments: ["http://127.0.0.1:1", "http+unix://%2Fnonexistent%2Fsocket"])
    func aServerThatIsNotThereGetsNothing(_ address: String) async throws {
        let client = FunctionServerClient(
            to: try #require(FunctionAddress(address)),
            signer: WebhookSigner(secret: []),
            maximumResponse: 1024
        )
        let fault = await #expect(throws: FunctionFault.self) {
            try await client.response(to: Self.body, within: patience)
        }
        guard case .unreachable? = fault else {
            Issue.record("The fault was \(String(describing: fault)).")
            return
        }
    }
}
