import NIOCore
import NIOHPACK
import NIOHTTP2
import NIOSSL
import SkyrowHTTP
import SkyrowTestSupport
import Testing

/// Runs a server with a certificate, and lends HTTP/2 connections to it.
func withHTTP2Server<Success: Sendable>(
    _ responder: any HTTPResponder = ScriptedResponder(),
    limits: HTTPLimits = HTTPLimits(),
    window: Int = Int(Int32.max),
    validates: Bool = true,
    _ body: (TestServer, HTTP2TestConnection) async throws -> Success
) async throws -> Success {
    let certificate = try await TestCertificate()
    let client = try certificate.client(protocols: ["h2"])
    return try await withServer(responder, limits: limits, certificate: certificate.server()) { server in
        try await withHTTP2(port: server.port, tls: client, window: window, validates: validates) { connection in
            try await body(server, connection)
        }
    }
}

@Suite struct HTTP2ServerTests {
    @Test func requestsAreAnsweredAsTheyAreDone() async throws {
        let responder = ScriptedResponder()
        try await withHTTP2Server(responder) { _, connection in
            try await connection.get("/wait", on: 1)
            try await responder.waiting.value()
            try await connection.get("/a?b=c", on: 3)
            let second = try await connection.response(on: 3)
            #expect(second.status == 200)
            #expect(second.body == "GET /a?b=c")
            #expect(second["content-type"] == "text/plain; charset=utf-8")
            #expect(second["content-length"] == "10")
            #expect(second["date"]?.hasSuffix(" GMT") == true)
            #expect(second["connection"] == nil)
            responder.gate.open()
            #expect(try await connection.response(on: 1).body == "done")
        }
    }

    @Test func bodiesOfAnyLengthGoBothWays() async throws {
        try await withHTTP2Server { _, connection in
            for (index, size) in [0, 1, 16_384, 16_385, 1_000_000].enumerated() {
                let stream = HTTP2StreamID(1 + 2 * index)
                try await connection.head("POST", "/echo", on: stream)
                let body = ByteBuffer(repeating: UInt8(ascii: "x"), count: size)
                var rest = body
                while let part = rest.readSlice(length: min(rest.readableBytes, 16_000)), part.readableBytes > 0 {
                    try await connection.body(part, on: stream, isWhole: false)
                }
                try await connection.body(ByteBuffer(), on: stream)
                #expect(try await connection.response(on: stream).body == String(buffer: body))
            }
            try await connection.get("/big", on: 101)
            #expect(try await connection.response(on: 101).body.utf8.count == 4 << 20)
        }
    }

    @Test func anAnswerToHEADHasALengthAndNoBody() async throws {
        try await withHTTP2Server { _, connection in
            try await connection.head("HEAD", "/a", on: 1, isWhole: true)
            let response = try await connection.response(on: 1)
            #expect(response.status == 200)
            #expect(response["content-length"] == "7")
            #expect(response.body.isEmpty)
        }
    }

    @Test func fieldsAfterTheBodyArePassedOver() async throws {
        try await withHTTP2Server { _, connection in
            try await connection.head("POST", "/echo", on: 1)
            try await connection.body(ByteBuffer(string: "body"), on: 1, isWhole: false)
            try await connection.send(1, .headers(.init(headers: ["x-checksum": "1"], endStream: true)))
            #expect(try await connection.response(on: 1).body == "body")
        }
    }

    @Test func aClientThatWaitsToBeAskedForItsBodyIsAsked() async throws {
        try await withHTTP2Server { _, connection in
            try await connection.head("POST", "/echo", on: 1, headers: [("expect", "100-continue")])
            let frame = try #require(try await connection.frame())
            guard case .headers(let content) = frame.payload else {
                Issue.record("\(frame)")
                return
            }
            #expect(content.headers.first(name: ":status") == "100")
            try await connection.body(ByteBuffer(string: "body"), on: 1)
            #expect(try await connection.response(on: 1).body == "body")
        }
    }

    @Test func aClientThatResetsItsRequestHasItsWorkCancelled() async throws {
        let responder = ScriptedResponder()
        try await withHTTP2Server(responder) { _, connection in
            try await connection.get("/wait", on: 1)
            try await responder.waiting.value()
            try await connection.send(1, .rstStream(.cancel))
            try await responder.cancelled.value()
            try await connection.get("/a", on: 3)
            #expect(try await connection.response(on: 3).body == "GET /a")
        }
    }

    @Test func aClientThatClosesItsSideGetsItsAnswers() async throws {
        let responder = ScriptedResponder()
        try await withHTTP2Server(responder) { _, connection in
            try await connection.get("/wait", on: 1)
            try await responder.waiting.value()
            connection.finishSending()
            responder.gate.open()
            #expect(try await connection.response(on: 1).body == "done")
            try await connection.waitForClose()
        }
    }

    // MARK: - The service behind it

    @Test func bothDoorsAreOpen() async throws {
        let certificate = try await TestCertificate()
        let client = try certificate.client(protocols: ["h2"])
        try await withService(certificate: certificate.server()) { service in
            let ann = try await service.token(of: "ann", tls: certificate.client())
            try await withHTTP2(port: service.port, tls: client) { connection in
                let key = [("x-skygear-api-key", TestService.apiKey), ("authorization", "Bearer \(ann)")]
                let save =
                    #"{"jsonrpc":"2.0","id":7,"method":"record:save","params":{"records":[{"_id":"note/1","n":1}]}}"#
                try await connection.post("/rpc", save, on: 1, headers: key)
                let saved = try await connection.response(on: 1)
                #expect(saved.status == 200)
                #expect(saved["strict-transport-security"] == "max-age=3600")
                #expect(saved["x-skygear-request-id"]?.isEmpty == false)
                #expect(try JSONValue(saved.body)["result"][0]["_id"].string == "note/1")
                try await connection.post("/record/fetch", #"{"ids":["note/1"]}"#, on: 3, headers: key)
                #expect(try JSONValue(try await connection.response(on: 3).body)["result"][0]["n"].integer == 1)
                try await connection.get("/readyz", on: 5)
                #expect(try await connection.response(on: 5).status == 200)
                try await connection.head(
                    "OPTIONS",
                    "/rpc",
                    on: 7,
                    headers: [("origin", "https://a.example")],
                    isWhole: true
                )
                #expect(try await connection.response(on: 7)["access-control-allow-origin"] == "*")
                try await connection.post("/rpc", "{", on: 9, headers: key)
                #expect(try JSONValue(try await connection.response(on: 9).body)["error"]["code"].integer == -32700)
            }
        }
    }
}

extension TestService {
    /// Makes an account over TLS and returns its access token.
    fileprivate func token(of name: String, tls: NIOSSLContext) async throws -> String {
        try await withConnection(port: port, tls: tls) { connection in
            let body =
                #"{"jsonrpc":"2.0","id":1,"method":"auth:signup","params":{"auth_data":{"username":"\#(name)"},"password":"a long secret"}}"#
            try await connection.post("/rpc", body, headers: [("X-Skygear-API-Key", TestService.apiKey)])
            return try #require(JSONValue(try await connection.response().body)["result"]["access_token"].string)
        }
    }
}
