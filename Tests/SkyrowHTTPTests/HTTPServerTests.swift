import NIOCore
import SkyrowHTTP
import Testing

@Suite struct HTTPServerTests {
    @Test func severalRequestsShareOneConnection() async throws {
        try await withServer(ScriptedResponder()) { server in
            try await withConnection(port: server.port) { connection in
                for path in ["/a", "/b?c=d", "/e"] {
                    try await connection.get(path)
                    let response = try await connection.response()
                    #expect(response.status == 200)
                    #expect(response.body == "GET \(path)")
                    #expect(response["connection"] == nil)
                    #expect(response["server"] == "Skyrow")
                    #expect(response["date"]?.hasSuffix(" GMT") == true)
                }
            }
        }
    }

    @Test func headIsAnsweredWithTheLengthAndNoBody() async throws {
        try await withServer(ScriptedResponder()) { server in
            try await withConnection(port: server.port) { connection in
                try await connection.get("/a", method: "HEAD")
                let head = try await connection.response(toHead: true)
                #expect(head["content-length"] == "7")
                try await connection.get("/b")
                #expect(try await connection.response().body == "GET /b")
            }
        }
    }

    @Test(arguments: [
        ("GET /a HTTP/1.0\r\n\r\n", nil, true),
        ("GET /a HTTP/1.0\r\nconnection: keep-alive\r\n\r\n", "keep-alive", false),
        ("GET /a HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n", "close", true),
        ("GET /a HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\nupgrade: h2c\r\n\r\n", "close", true),
    ])
    func theClientDecidesWhetherTheConnectionStays(request: String, connectionField: String?, closes: Bool) async throws
    {
        try await withServer(ScriptedResponder()) { server in
            try await withConnection(port: server.port) { connection in
                try await connection.send(request)
                let response = try await connection.response()
                #expect(response.body == "GET /a")
                #expect(response["connection"] == (closes ? "close" : connectionField))
                if closes {
                    #expect(try await connection.isClosedByServer())
                } else {
                    try await connection.get("/b")
                    #expect(try await connection.response().body == "GET /b")
                }
            }
        }
    }

    @Test func chunkedBodiesArriveWhole() async throws {
        try await withServer(ScriptedResponder()) { server in
            try await withConnection(port: server.port) { connection in
                try await connection.send(
                    "POST /echo HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n"
                )
                try await connection.send("5;ext=1\r\ndefgh\r\n0\r\ntrailer: t\r\n\r\n")
                #expect(try await connection.response().body == "abcdefgh")
            }
        }
    }

    @Test func aBodyOfExactlyTheLimitPasses() async throws {
        try await withServer(ScriptedResponder(), limits: HTTPLimits(body: 100_000)) { server in
            try await withConnection(port: server.port) { connection in
                let body = String(repeating: "x", count: 100_000)
                try await connection.post("/echo", body)
                #expect(try await connection.response().body == body)
            }
        }
    }

    @Test func pipelinedRequestsAreAnsweredInOrder() async throws {
        let responder = ScriptedResponder()
        try await withServer(responder) { server in
            try await withConnection(port: server.port) { connection in
                var requests = "GET /wait HTTP/1.1\r\nhost: x\r\n\r\n"
                for number in 0..<200 { requests += "GET /\(number) HTTP/1.1\r\nhost: x\r\n\r\n" }
                try await connection.send(requests)
                try await responder.waiting.value()
                responder.gate.open()
                #expect(try await connection.response().body == "done")
                for number in 0..<200 { #expect(try await connection.response().body == "GET /\(number)") }
            }
        }
    }

    @Test func aPipelinedRequestWaitsForTheOneBeforeIt() async throws {
        let responder = ScriptedResponder()
        try await withServer(responder) { server in
            try await withConnection(port: server.port) { connection in
                try await connection.get("/wait")
                try await connection.get("/next")
                try await responder.waiting.value()
                // The responses of further connections, which take turns on the event loops, prove that the loop of this one
                // has had time for its second request.
                let others = 4 * System.coreCount
                for _ in 0..<others {
                    try await withConnection(port: server.port) { other in
                        try await other.get("/other")
                        _ = try await other.response()
                    }
                }
                #expect(responder.requests == 1 + others)
                responder.gate.open()
                #expect(try await connection.response().body == "done")
                #expect(try await connection.response().body == "GET /next")
            }
        }
    }

    @Test func continueIsSentBeforeTheBody() async throws {
        try await withServer(ScriptedResponder()) { server in
            try await withConnection(port: server.port) { connection in
                try await connection.send(
                    "POST /echo HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\nexpect: 100-continue\r\n\r\n"
                )
                #expect(try await connection.response().status == 100)
                try await connection.send("ok")
                #expect(try await connection.response().body == "ok")
            }
        }
    }

    @Test func continueWaitsForTheAnswersBeforeIt() async throws {
        let responder = ScriptedResponder()
        try await withServer(responder) { server in
            try await withConnection(port: server.port) { connection in
                try await connection.get("/wait")
                try await connection.send(
                    "POST /echo HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\nexpect: 100-continue\r\n\r\n"
                )
                try await responder.waiting.value()
                responder.gate.open()
                #expect(try await connection.response().body == "done")
                #expect(try await connection.response().status == 100)
                try await connection.send("ok")
                #expect(try await connection.response().body == "ok")
            }
        }
    }

    @Test func aClientThatStopsSendingStillGetsItsAnswer() async throws {
        let responder = ScriptedResponder()
        try await withServer(responder) { server in
            try await withConnection(port: server.port) { connection in
                try await connection.get("/wait")
                connection.finishSending()
                try await responder.waiting.value()
                responder.gate.open()
                #expect(try await connection.response().body == "done")
                #expect(try await connection.isClosedByServer())
            }
        }
    }

    @Test func aClientThatStopsSendingGetsALargeAnswerWhole() async throws {
        try await withServer(ScriptedResponder()) { server in
            try await withConnection(port: server.port) { connection in
                try await connection.get("/big")
                connection.finishSending()
                #expect(try await connection.response().body.utf8.count == 4 << 20)
                #expect(try await connection.isClosedByServer())
            }
        }
    }
}
