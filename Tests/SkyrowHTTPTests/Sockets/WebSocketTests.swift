import NIOCore
import NIOEmbedded
import NIOHTTP2
import SkyrowTestSupport
import Testing

@testable import SkyrowHTTP

/// JSON-RPC over WebSockets, with every frame made by hand.
@Suite struct WebSocketTests {
    private typealias Opcode = SocketClient.Opcode

    // MARK: - The handshake

    struct Handshake: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let head: String
        let status: Int
        var cors = CORSPolicy.anyOrigin
        var field: (String, String)?
    }

    private static let handshakes: [Handshake] = [
        Handshake(testDescription: "as RFC 6455 has it", head: socketHead(), status: 101),
        Handshake(
            testDescription: "with a list of connection options",
            head: socketHead(connection: "keep-alive, Upgrade"),
            status: 101
        ),
        Handshake(
            testDescription: "in other cases",
            head: socketHead(connection: "upgrade", upgrade: "WebSocket"),
            status: 101
        ),
        Handshake(
            testDescription: "with a subprotocol that there is",
            head: socketHead(headers: [("sec-websocket-protocol", "chat, jsonrpc")]),
            status: 101,
            field: ("sec-websocket-protocol", "jsonrpc")
        ),
        Handshake(
            testDescription: "with another subprotocol",
            head: socketHead(headers: [("sec-websocket-protocol", "chat")]),
            status: 101
        ),
        Handshake(
            testDescription: "from a page",
            head: socketHead(headers: [("origin", "https://app.example")]),
            status: 101
        ),
        Handshake(
            testDescription: "from a page that may",
            head: socketHead(headers: [("origin", "https://app.example")]),
            status: 101,
            cors: .origins(["https://app.example"])
        ),
        Handshake(
            testDescription: "from a page of the service itself",
            head: socketHead(headers: [("origin", "http://localhost")]),
            status: 101,
            cors: .off
        ),
        Handshake(
            testDescription: "from a page that may not",
            head: socketHead(headers: [("origin", "https://evil.example")]),
            status: 403,
            cors: .origins(["https://app.example"])
        ),
        Handshake(
            testDescription: "from any page where none may",
            head: socketHead(headers: [("origin", "null")]),
            status: 403,
            cors: .off
        ),
        Handshake(
            testDescription: "of another version",
            head: socketHead(version: "8"),
            status: 426,
            field: ("sec-websocket-version", "13")
        ),
        Handshake(testDescription: "without a key", head: socketHead(key: nil), status: 400),
        Handshake(testDescription: "with a short key", head: socketHead(key: "c2hvcnQ="), status: 400),
        Handshake(
            testDescription: "with a key that is no base64",
            head: socketHead(key: "dGhlIHNhbXBsZSBub25jZ!=="),
            status: 400
        ),
        Handshake(
            testDescription: "with two keys",
            head: socketHead(headers: [("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ==")]),
            status: 400
        ),
        Handshake(
            testDescription: "without Connection: Upgrade",
            head: socketHead(connection: "keep-alive"),
            status: 400
        ),
        Handshake(
            testDescription: "for another protocol",
            head: socketHead(upgrade: "h2c"),
            status: 426,
            field: ("upgrade", "websocket")
        ),
        Handshake(
            testDescription: "without asking for one",
            head: "GET /rpc HTTP/1.1\r\nhost: localhost\r\n\r\n",
            status: 426,
            field: ("upgrade", "websocket")
        ),
        Handshake(
            testDescription: "with a wrong key of the service",
            head: socketHead(headers: [("x-skygear-api-key", "wrong")]),
            status: 401
        ),
        Handshake(
            testDescription: "with a wrong token",
            head: socketHead(headers: [("authorization", "Bearer wrong")]),
            status: 401
        ),
        Handshake(testDescription: "somewhere else", head: socketHead(path: "/healthz"), status: 200),
    ]

    @Test func handshakesHaveTheirStatus() async throws {
        for (cors, rows) in Dictionary(grouping: Self.handshakes, by: \.cors) {
            try await withService(cors: cors) { service in
                for row in rows {
                    try await withConnection(port: service.port) { connection in
                        try await connection.send(row.head)
                        let response = try await connection.response()
                        #expect(response.status == row.status, "\(row) \(response)")
                        if let field = row.field { #expect(response[field.0] == field.1, "\(row)") }
                        if row.status == 101 {
                            #expect(response["upgrade"] == "websocket", "\(row)")
                            #expect(response["sec-websocket-accept"] == "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=", "\(row)")
                            #expect(response["sec-websocket-extensions"] == nil, "\(row)")
                        } else {
                            #expect(response["sec-websocket-accept"] == nil, "\(row)")
                        }
                    }
                    // Others are served.
                    #expect(try await service.rpc("[]").status == 200, "\(row)")
                }
            }
        }
    }

    // MARK: - Calls

    @Test func allActionsAreCalledAsOnPOST() async throws {
        try await withService { service in
            let ann = try await service.signUp("ann")
            try await withSocket(port: service.port, key: TestService.apiKey, token: ann.token) { socket in
                #expect(try await socket.call("me")["result"]["user_id"].string == ann.id)
                let saved = try await socket.call("record:save", #"{"records":[{"_id":"note/1","title":"x"}]}"#)
                #expect(saved["result"].elements.first?["_id"].string == "note/1")
                let found = try await socket.call("record:query", #"{"record_type":"note"}"#)
                #expect(found["result"]["records"].elements.count == 1)
                #expect(try await socket.call("no:such")["error"]["code"].integer == -32601)
                try await socket.send(text: "{")
                #expect(try await socket.nextText()["error"]["code"].integer == -32700)
                // A batch is answered by an array, and notifications by nothing.
                try await socket.send(
                    text: #"[{"jsonrpc":"2.0","id":"a","method":"me"},{"jsonrpc":"2.0","method":"me"}]"#
                )
                let batch = try await socket.nextText()
                #expect(batch.elements.count == 1)
                #expect(batch.elements.first?["id"].string == "a")
                try await socket.send(text: #"{"jsonrpc":"2.0","method":"me"}"#)
                #expect(try await socket.call("me")["result"]["user_id"].string == ann.id)
            }
        }
    }

    @Test func manyCallsAreUnderWayAtOnce() async throws {
        try await withService(limits: HTTPLimits(live: LiveLimits(calls: 4))) { service in
            try await withSocket(port: service.port, key: TestService.apiKey) { socket in
                // In one packet, so that they meet the bound.
                var bytes = ByteBuffer()
                for id in 1...300 {
                    let text = #"{"jsonrpc":"2.0","id":\#(id),"method":"record:fetch","params":{"ids":["note/1"]}}"#
                    bytes.writeImmutableBuffer(SocketClient.frame(Opcode.text, ByteBuffer(string: text)))
                }
                try await socket.connection.send(bytes)
                var ids: Set<Int> = []
                for _ in 1...300 { ids.insert(try #require(try await socket.nextText()["id"].integer)) }
                #expect(ids == Set(1...300))
            }
        }
    }

    @Test func aMessageComesInPiecesWithControlFramesBetween() async throws {
        try await withService { service in
            try await withSocket(port: service.port, key: TestService.apiKey) { socket in
                try await socket.send(Opcode.text, #"{"jsonrpc":"2.0","id":1,"#, isFinal: false)
                try await socket.send(Opcode.ping, "still there?")
                #expect(
                    try await socket.next()
                        == SocketClient.Frame(opcode: Opcode.pong, payload: ByteBuffer(string: "still there?"))
                )
                try await socket.send(Opcode.continuation, #""method":"rpc."#, isFinal: false)
                try await socket.send(Opcode.pong, "nobody asked")
                try await socket.send(Opcode.continuation, #"discover"}"#)
                #expect(try await socket.nextText()["result"]["openrpc"].string != nil)
            }
        }
    }

    @Test func whatComesBehindTheHandshakeIsNotLost() async throws {
        try await withService { service in
            try await withConnection(port: service.port) { connection in
                var bytes = ByteBuffer(string: socketHead(headers: [("x-skygear-api-key", TestService.apiKey)]))
                let text = #"{"jsonrpc":"2.0","id":7,"method":"record:fetch","params":{"ids":["note/1"]}}"#
                bytes.writeImmutableBuffer(SocketClient.frame(Opcode.text, ByteBuffer(string: text)))
                try await connection.send(bytes)
                #expect(try await connection.response().status == 101)
                #expect(try await SocketClient(connection).nextText()["id"].integer == 7)
            }
        }
    }

    @Test func itWorksTheSameOverTLSAndHTTP2HasNone() async throws {
        let certificate = try await TestCertificate()
        let client = try certificate.client(protocols: ["http/1.1"])
        try await withService(certificate: certificate.server(), client: client) { service in
            try await withSocket(port: service.port, key: TestService.apiKey, tls: client) { socket in
                let long = String(repeating: " ", count: 400_000)
                let reply = try await socket.call("record:fetch", #"{"ids":["note/1"]\#(long)}"#)
                #expect(reply["result"].elements.count == 1)
            }
            try await withHTTP2(port: service.port, tls: try certificate.client(protocols: ["h2"])) { connection in
                try await connection.get("/rpc", on: 1)
                let response = try await connection.response(on: 1)
                #expect(response.status == 405)
            }
        }
    }

    // MARK: - Credentials

    @Test func aBrowserAuthenticatesByItsFirstCallAndMayDoSoAgain() async throws {
        try await withService { service in
            let ann = try await service.signUp("ann")
            let bob = try await service.signUp("bob")
            try await withSocket(port: service.port) { socket in
                #expect(try await socket.call("me")["error"]["code"].integer == 101)
                let wrong = try await socket.call("connection:authenticate", #"{"access_token":"wrong"}"#)
                #expect(wrong["error"]["code"].integer == 104)
                #expect(try await socket.call("connection:authenticate")["error"]["code"].integer == 101)
                // Sent at once, the calls behind it are already its own.
                for token in [ann.token, bob.token] {
                    try await socket.request(
                        "connection:authenticate",
                        #"{"api_key":"\#(TestService.apiKey)","access_token":"\#(token)"}"#
                    )
                    #expect(try await socket.nextText()["result"]["status"].string == "OK")
                    let user = try await socket.call("me")["result"]["user_id"].string
                    #expect(user == (token == ann.token ? ann.id : bob.id))
                }
            }
            try await withSocket(port: service.port) { socket in
                try await socket.request("connection:authenticate", #"{"access_token":"\#(ann.token)"}"#)
                try await socket.request("me")
                #expect(try await socket.nextText()["id"].integer == 1)
                #expect(try await socket.nextText()["result"]["user_id"].string == ann.id)
            }
            // Elsewhere each request carries its credentials itself.
            let onPost = try await service.call("connection:authenticate", "{}")
            #expect(onPost["error"]["code"].integer == 111)
        }
    }

    @Test func withoutCredentialsItIsClosedAfterAWhile() async throws {
        let limits = HTTPLimits(live: LiveLimits(authentication: .milliseconds(300)))
        try await withService(limits: limits) { service in
            try await withSocket(port: service.port) { socket in
                let closure = try await socket.closure()
                #expect(closure.code == 4401)
            }
        }
    }

    /// How a session ends over which nothing is asked, and whether its token came with the head of the request.
    @Test(arguments: ["auth:logout", "auth:password", "session:revoke", "auth:disable:set"], [true, false])
    func anIdleConnectionEndsWithItsSession(ending: String, inHead: Bool) async throws {
        try await withService { service in
            let ann = try await service.signUp("ann")
            let bob = try await service.signUp("bob")
            try await withSocket(port: service.port, key: TestService.apiKey, token: bob.token) { other in
                #expect(try await other.call("me")["result"]["user_id"].string == bob.id)
                try await withSocket(
                    port: service.port,
                    key: TestService.apiKey,
                    token: inHead ? ann.token : bob.token
                ) { socket in
                    if !inHead {
                        _ = try await socket.call("connection:authenticate", #"{"access_token":"\#(ann.token)"}"#)
                    }
                    #expect(try await socket.call("me")["result"]["user_id"].string == ann.id)
                    let parameters =
                        switch ending {
                        case "auth:password":
                            #"{"old_password":"a long secret","password":"another long secret"}"#
                        case "session:revoke": #"{"all":true}"#
                        case "auth:disable:set": #"{"auth_id":"\#(ann.id)","disabled":true}"#
                        default: "{}"
                        }
                    let isMaster = ending == "auth:disable:set"
                    let ended = try await service.call(
                        ending,
                        parameters,
                        key: isMaster ? TestService.masterKey : TestService.apiKey,
                        token: isMaster ? nil : ann.token
                    )
                    #expect(ended["error"] == .null, "\(ended)")
                    #expect(try await socket.closure().code == 4401)
                    try await socket.sendClose(4401)
                    #expect(try await socket.connection.isClosedByServer())
                }
                // Others go on, also one that had other credentials before.
                #expect(try await other.call("me")["result"]["user_id"].string == bob.id)
            }
        }
    }

    // MARK: - Bad input

    struct Attack: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let frames: [ByteBuffer]
        let code: UInt16
    }

    private static let attacks: [Attack] = [
        Attack(
            testDescription: "unmasked",
            frames: [SocketClient.frame(Opcode.text, ByteBuffer(string: "{}"), isMasked: false)],
            code: 1002
        ),
        Attack(
            testDescription: "a reserved bit",
            frames: [SocketClient.frame(Opcode.text, ByteBuffer(string: "{}"), reserved: 4)],
            code: 1002
        ),
        Attack(
            testDescription: "binary",
            frames: [SocketClient.frame(Opcode.binary, ByteBuffer(string: "{}"))],
            code: 1003
        ),
        Attack(
            testDescription: "invalid UTF-8",
            frames: [SocketClient.frame(Opcode.text, ByteBuffer(bytes: [0x22, 0xFF, 0x22]))],
            code: 1007
        ),
        Attack(
            testDescription: "a frame too large, by its head alone",
            frames: [ByteBuffer(bytes: [0x81, 0xFF, 0, 0, 0, 0, 1, 0, 0, 0, 1, 2, 3, 4])],
            code: 1009
        ),
        Attack(
            testDescription: "a length beyond all measure",
            frames: [ByteBuffer(bytes: [0x81, 0xFF, 255, 255, 255, 255, 255, 255, 255, 255, 1, 2, 3, 4])],
            code: 1009
        ),
        Attack(
            testDescription: "a message too large in pieces",
            frames: [SocketClient.frame(Opcode.text, ByteBuffer(repeating: 0x20, count: 60_000), isFinal: false)]
                + (0..<5).map { _ in
                    SocketClient.frame(Opcode.continuation, ByteBuffer(repeating: 0x20, count: 60_000), isFinal: false)
                },
            code: 1009
        ),
        Attack(
            testDescription: "fragments without end",
            frames: [SocketClient.frame(Opcode.text, isFinal: false)]
                + (0..<3000).map { _ in SocketClient.frame(Opcode.continuation, isFinal: false) },
            code: 1008
        ),
        Attack(
            testDescription: "a flood of pings",
            frames: (0..<200).map { _ in SocketClient.frame(Opcode.ping) },
            code: 1008
        ),
        Attack(
            testDescription: "a long control frame",
            frames: [SocketClient.frame(Opcode.ping, ByteBuffer(repeating: 1, count: 126))],
            code: 1002
        ),
        Attack(
            testDescription: "half a close code",
            frames: [SocketClient.frame(Opcode.close, ByteBuffer(string: "x"))],
            code: 1002
        ),
    ]

    @Test func badInputHasItsCodeAndOthersAreUnharmed() async throws {
        let limits = HTTPLimits(body: 262_144, live: LiveLimits(controlFrames: 100, controlWindow: .hours(1)))
        try await withService(limits: limits) { service in
            try await withSocket(port: service.port, key: TestService.apiKey) { other in
                for attack in WebSocketTests.attacks {
                    try await withSocket(port: service.port, key: TestService.apiKey) { socket in
                        for frame in attack.frames { try? await socket.connection.send(frame) }
                        let code = try await socket.closure().code
                        #expect(code == attack.code, "\(attack.testDescription)")
                        try? await socket.sendClose(attack.code)
                        #expect(try await socket.connection.isClosedByServer(), "\(attack.testDescription)")
                    }
                    let reply = try await other.call("record:fetch", #"{"ids":["note/1"]}"#)
                    #expect(reply["result"].elements.count == 1, "\(attack.testDescription)")
                }
            }
        }
    }

    @Test func aStrangerHasNoMemoryForLongMessages() async throws {
        try await withService(limits: HTTPLimits(smallBody: 10_000)) { service in
            try await withSocket(port: service.port) { socket in
                try await socket.connection.send(
                    SocketClient.frame(Opcode.text, ByteBuffer(repeating: 0x20, count: 20_000), isFinal: false)
                )
                #expect(try await socket.closure().code == 4401)
            }
        }
    }

    @Test func messagesBeyondTheShareOfAClientAreDroppedAsTheyCome() async throws {
        let part = SocketClient.frame(Opcode.text, ByteBuffer(repeating: 0x20, count: 400_000), isFinal: false)
        let more = SocketClient.frame(Opcode.continuation, ByteBuffer(repeating: 0x20, count: 400_000), isFinal: false)
        let limits = HTTPLimits(body: 500_000, bodiesInMemory: 1_500_000, live: LiveLimits(closing: .milliseconds(500)))
        try await withService(limits: limits) { service in
            try await withSocket(port: service.port, key: TestService.apiKey) { first in
                try await first.connection.send(part)
                try await waiting(until: "half of a message is here") { service.counts.statistics.bodyBytes >= 400_000 }
                try await withSocket(port: service.port, key: TestService.apiKey) { second in
                    try await second.connection.send(part)
                    #expect(try await second.closure().code == 4429)
                    // The server does not wait long for them.
                    for _ in 0..<5 { try? await second.connection.send(more) }
                    #expect(service.counts.statistics.bodyBytes <= 500_000)
                    #expect(try await second.connection.isClosedByServer())
                }
                // The other message goes on.
                let end = SocketClient.frame(Opcode.continuation, ByteBuffer(string: "{}"))
                try await first.connection.send(end)
                #expect(try await first.nextText()["error"]["code"].integer != nil)
            }
        }
    }

    @Test func whatIsDroppedIsNotCounted() throws {
        let counter = ReceivedBytes()
        let channel = EmbeddedChannel(handler: counter)
        try channel.writeInbound(ByteBuffer(repeating: 0x20, count: 100))
        #expect(counter.held == 100)
        #expect(try channel.readInbound(as: ByteBuffer.self)?.readableBytes == 100)
        counter.drops = true
        try channel.writeInbound(ByteBuffer(repeating: 0x20, count: 100))
        #expect(counter.held == 100)
        #expect(try channel.readInbound(as: ByteBuffer.self) == nil)
    }

    @Test func halfAMessageIsNotWaitedForForEver() async throws {
        let limits = HTTPLimits(bodyWindow: .milliseconds(300))
        try await withService(limits: limits) { service in
            try await withSocket(port: service.port, key: TestService.apiKey) { socket in
                try await socket.send(Opcode.text, "{", isFinal: false)
                #expect(try await socket.closure().code == 1008)
            }
        }
    }

    // MARK: - Limits

    @Test func oneTooManyIsClosedAsSuch() async throws {
        let limits = HTTPLimits(live: LiveLimits(connections: 5, connectionsOfUser: 2, connectionsOfClient: 3))
        try await withService(limits: limits) { service in
            let ann = try await service.signUp("ann")
            let bob = try await service.signUp("bob")
            func open(_ count: Int, from source: String, token: String?, then body: () async throws -> Void)
                async throws
            {
                guard count > 0 else { return try await body() }
                try await withSocket(port: service.port, key: TestService.apiKey, token: token, from: source) {
                    socket in
                    _ = try await socket.call("rpc.discover")
                    try await open(count - 1, from: source, token: token, then: body)
                }
            }
            func expectRefusal(from source: String) async throws {
                try await withSocket(port: service.port, key: TestService.apiKey, from: source) { socket in
                    let closure = try await socket.closure()
                    #expect(closure.code == 4429)
                }
            }
            // Of one address.
            try await open(3, from: "127.0.0.1", token: nil) {
                try await expectRefusal(from: "127.0.0.1")
                // Of the process.
                try await open(2, from: "127.0.0.2", token: nil) { try await expectRefusal(from: "127.0.0.3") }
            }
            // Of one user.
            try await waiting(until: "the connections are given back") {
                service.connections.statistics.webSockets == 0
            }
            try await open(2, from: "127.0.0.1", token: ann.token) {
                try await withConnection(port: service.port) { connection in
                    try await connection.send(socketHead(headers: [("authorization", "Bearer \(ann.token)")]))
                    #expect(try await connection.response().status == 429)
                }
                try await withSocket(port: service.port) { socket in
                    let mine = try await socket.call("connection:authenticate", #"{"access_token":"\#(ann.token)"}"#)
                    #expect(mine["error"]["code"].integer == 131)
                    let another = try await socket.call("connection:authenticate", #"{"access_token":"\#(bob.token)"}"#)
                    #expect(another["result"]["status"].string == "OK")
                }
            }
        }
    }

    @Test func callsAreLoggedOneByOne() async throws {
        let lines = LogLines()
        try await withService(logger: lines.logger) { service in
            try await WebSocketTests.makeTwoCalls(service)
        }
        let requests = lines.all.filter { $0.hasPrefix("Request ") }
        #expect(requests.count { $0.contains("method=WebSocket") } == 2)
        #expect(requests.contains { $0.contains("method=WebSocket") && $0.contains("action=record:fetch") })
        #expect(requests.contains { $0.contains("action=websocket") && $0.contains("status=101") })
    }

    private static func makeTwoCalls(_ service: TestService) async throws {
        try await withSocket(port: service.port, key: TestService.apiKey) { socket in
            let me = try await socket.call("me")
            #expect(me["error"]["code"].integer == 101)
            let found = try await socket.call("record:fetch", #"{"ids":["note/1"]}"#)
            #expect(found["result"].elements.count == 1)
        }
    }
}
