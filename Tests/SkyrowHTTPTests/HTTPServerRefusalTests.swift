import NIOCore
import SkyrowHTTP
import Testing

@Suite struct HTTPServerRefusalTests {
    static let limits = HTTPLimits(body: 1000, headerField: 2000, headerList: 4000, headerCount: 20)

    @Test(arguments: [
        ("GET /a HTTP/1.1\r\nhost x\r\n\r\n", 400, "malformed"),
        ("GET /a b HTTP/1.1\r\nhost: x\r\n\r\n", 400, "malformed"),
        ("NONSENSE\r\n\r\n", 400, "malformed"),
        ("\u{16}\u{3}\u{1}\u{0}\u{ff}\r\n\r\n", 400, "malformed"),
        ("GET /a HTTP/3.7\r\nhost: x\r\n\r\n", 400, "malformed"),
        (
            "POST /echo HTTP/1.1\r\nhost: x\r\ncontent-length: 3\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n", 400,
            "malformed"
        ),
        ("POST /echo HTTP/1.1\r\nhost: x\r\ncontent-length: 3\r\ncontent-length: 4\r\n\r\nabcd", 400, "malformed"),
        ("POST /echo HTTP/1.1\r\nhost: x\r\ncontent-length: -3\r\n\r\nabc", 400, "malformed"),
        ("POST /echo HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\nxyz\r\n", 400, "malformed"),
        ("POST /echo HTTP/1.1\r\nhost: x\r\ncontent-length: 1001\r\n\r\n", 413, "bodyTooLarge"),
        ("POST /echo HTTP/1.1\r\nhost: x\r\ncontent-length: 9000000000000000000\r\n\r\n", 413, "bodyTooLarge"),
        ("POST /echo HTTP/1.1\r\nhost: x\r\ncontent-length: 1001\r\nexpect: 100-continue\r\n\r\n", 413, "bodyTooLarge"),
        (
            "POST /echo HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n3E9\r\n\(String(repeating: "x", count: 1001))\r\n",
            413, "bodyTooLarge"
        ),
        (
            "POST /echo HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\nexpect: the-impossible\r\n\r\n", 417,
            "expectationFailed"
        ),
        ("GET /a HTTP/1.1\r\nx: \(String(repeating: "x", count: 2100))\r\n\r\n", 431, "headerTooLarge"),
        ("GET /a HTTP/1.1\r\n\(String(repeating: "x: y\r\n", count: 21))\r\n", 431, "headerTooLarge"),
        ("POST /echo HTTP/1.1\r\nhost: x\r\ncontent-length: 5\r\n\r\nabc", 408, "requestTimeout"),
        ("GET /a HTTP/1.1\r\n\r\n", 400, "malformed"),
        ("GET /a HTTP/1.1\r\nhost: x\r\nhost: x\r\n\r\n", 400, "malformed"),
        ("GET /a HTTP/1.0\r\nhost: x\r\nHOST: y\r\n\r\n", 400, "malformed"),
        ("POST /echo HTTP/1.1\r\nhost: x\r\ntransfer-encoding: gzip\r\n\r\n", 501, "unsupportedTransferCoding"),
        (
            "POST /echo HTTP/1.1\r\nhost: x\r\ntransfer-encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
            501, "unsupportedTransferCoding"
        ),
        (
            "POST /echo HTTP/1.1\r\nhost: x\r\ntransfer-encoding: gzip\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
            501, "unsupportedTransferCoding"
        ),
        (
            "POST /echo HTTP/1.1\r\nhost: x\r\ncontent-encoding: gzip\r\ncontent-length: 2\r\n\r\nok",
            415, "unsupportedContentCoding"
        ),
        (
            "POST /echo HTTP/1.1\r\nhost: x\r\ncontent-encoding: identity, br\r\ncontent-length: 2\r\n\r\nok",
            415, "unsupportedContentCoding"
        ),
    ])
    func eachFaultIsNamedAndTheConnectionCloses(request: String, status: Int, fault: String) async throws {
        var limits = Self.limits
        if status == 408 { limits.bodyTime = .milliseconds(200) }
        try await withServer(ScriptedResponder(), limits: limits) { server in
            try await withConnection(port: server.port) { connection in
                try await connection.send(request)
                let response = try await connection.response()
                #expect(response.status == status)
                #expect(response.body == fault)
                #expect(response["connection"] == "close")
                #expect(try await connection.isClosedByServer())
            }
            // The service stays up.
            try await withConnection(port: server.port) { connection in
                try await connection.get("/up")
                #expect(try await connection.response().body == "GET /up")
            }
        }
    }

    @Test(arguments: [
        ("GET /a HTTP/1.0\r\n\r\n", "GET /a"),
        ("GET /a HTTP/1.1\r\nhost:\r\n\r\n", "GET /a"),
        ("POST /echo HTTP/1.1\r\nhost: x\r\nTransfer-Encoding: Chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n", "ok"),
        ("POST /echo HTTP/1.1\r\nhost: x\r\nContent-Encoding: Identity\r\ncontent-length: 2\r\n\r\nok", "ok"),
    ])
    func whatIsUnusualAndRightIsAnswered(request: String, body: String) async throws {
        try await withServer(ScriptedResponder()) { server in
            try await withConnection(port: server.port) { connection in
                try await connection.send(request)
                #expect(try await connection.response().body == body)
            }
        }
    }

    @Test func aRefusalComesAfterTheAnswersBeforeIt() async throws {
        let responder = ScriptedResponder()
        try await withServer(responder, limits: HTTPLimits(body: 1000)) { server in
            try await withConnection(port: server.port) { connection in
                try await connection.get("/wait")
                try await connection.send("POST /echo HTTP/1.1\r\nhost: x\r\ncontent-length: 1001\r\n\r\n")
                try await responder.waiting.value()
                responder.gate.open()
                #expect(try await connection.response().body == "done")
                #expect(try await connection.response().status == 413)
                #expect(try await connection.isClosedByServer())
            }
        }
    }

    @Test func aClientThatKeepsSendingReadsWhyItIsRefused() async throws {
        // However slowly it sends.
        try await withServer(ScriptedResponder(), limits: HTTPLimits(linger: .hours(1))) { server in
            try await withConnection(port: server.port) { connection in
                // Nine megabytes, of which the server reads the head only before it answers.
                let megabyte = ByteBuffer(repeating: 120, count: 1 << 20)
                try await connection.send("POST /echo HTTP/1.1\r\nhost: x\r\ncontent-length: \(9 << 20)\r\n\r\n")
                for _ in 0..<9 { try await connection.send(megabyte) }
                let response = try await connection.response()
                #expect(response.status == 413)
                #expect(try await connection.isClosedByServer())
            }
        }
    }

    @Test func bodiesInMemoryAreBounded() async throws {
        let limits = HTTPLimits(body: 1000, bodiesInMemory: 1500)
        let responder = ScriptedResponder()
        try await withServer(responder, limits: limits) { server in
            try await withConnection(port: server.port) { first in
                try await first.post("/wait", String(repeating: "x", count: 900))
                try await responder.waiting.value()
                try await withConnection(port: server.port) { second in
                    try await second.post("/echo", String(repeating: "x", count: 900))
                    let refusal = try await second.response()
                    #expect(refusal.status == 503)
                    #expect(refusal.body == "overloaded")
                }
                responder.gate.open()
                #expect(try await first.response().body == "done")
            }
            // What was taken has been given back.
            try await withConnection(port: server.port) { third in
                try await third.post("/echo", String(repeating: "x", count: 900))
                #expect(try await third.response().status == 200)
            }
        }
    }

    @Test func oneConnectionTooManyIsToldSo() async throws {
        try await withServer(ScriptedResponder(), limits: HTTPLimits(clientShare: 100, connections: 2)) { server in
            try await withConnection(port: server.port) { first in
                try await first.get("/a")
                _ = try await first.response()
                try await withConnection(port: server.port) { second in
                    try await second.get("/b")
                    _ = try await second.response()
                    try await withConnection(port: server.port) { third in
                        let refusal = try await third.response()
                        #expect(refusal.status == 503)
                        #expect(refusal.body == "overloaded")
                        #expect(try await third.isClosedByServer())
                    }
                    try await second.get("/c")
                    #expect(try await second.response().body == "GET /c")
                }
            }
        }
    }
}
