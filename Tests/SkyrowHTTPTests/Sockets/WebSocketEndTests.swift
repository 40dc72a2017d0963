import NIOCore
import SkyrowPostgres
import SkyrowTestSupport
import Testing

@testable import SkyrowHTTP

/// How WebSockets end, and who ends them.
@Suite struct WebSocketEndTests {
    private typealias Opcode = SocketClient.Opcode

    @Test func theClientClosesWithItsCode() async throws {
        try await withService { service in
            for (payload, code) in [(ByteBuffer(integer: UInt16(1001)), UInt16(1001)), (ByteBuffer(), nil)] {
                try await withSocket(port: service.port, key: TestService.apiKey) { socket in
                    try await socket.connection.send(SocketClient.frame(Opcode.close, payload))
                    let frame = try await socket.next()
                    #expect(frame.opcode == Opcode.close)
                    #expect(frame.code == code)
                    #expect(try await socket.connection.isClosedByServer())
                }
            }
        }
    }

    @Test func aClientThatDoesNotConfirmIsLeft() async throws {
        let limits = HTTPLimits(live: LiveLimits(authentication: .milliseconds(100), closing: .milliseconds(200)))
        try await withService(limits: limits) { service in
            try await withSocket(port: service.port) { socket in
                let closure = try await socket.closure()
                #expect(closure.code == 4401)
                #expect(try await socket.connection.isClosedByServer())
            }
        }
    }

    @Test func aSilentClientIsAskedAndLeft() async throws {
        let limits = HTTPLimits(live: LiveLimits(ping: .milliseconds(200), silence: .seconds(10)))
        try await withService(limits: limits) { service in
            try await withSocket(port: service.port, key: TestService.apiKey) { socket in
                #expect(try await socket.next().opcode == Opcode.ping)
                try await socket.send(Opcode.pong)
                #expect(try await socket.next().opcode == Opcode.ping)
                #expect(try await socket.closure().code == 1001)
                try await socket.sendClose(1001)
                #expect(try await socket.connection.isClosedByServer())
            }
        }
    }

    @Test func aHalfOpenConnectionEnds() async throws {
        try await withService { service in
            try await withSocket(port: service.port, key: TestService.apiKey) { socket in
                _ = try await socket.call("me")
                socket.connection.finishSending()
                #expect(try await socket.connection.isClosedByServer())
            }
        }
    }

    private static let waitingLocks = """
        SELECT count(*) FROM pg_locks AS l JOIN pg_database AS d ON d.oid = l.database
        WHERE NOT l.granted AND d.datname = current_database()
        """

    @Test func aShutdownFinishesTheCallsAndSaysWhenToComeBack() async throws {
        try await withService { service in
            try await withSocket(port: service.port, key: TestService.apiKey) { idle in
                try await withSocket(port: service.port, key: TestService.apiKey) { busy in
                    _ = try await service.call(
                        "schema:create",
                        #"{"record_types":{"note":{"fields":[{"name":"title","type":"string"}]}}}"#,
                        key: TestService.masterKey
                    )
                    for socket in [idle, busy] { _ = try await socket.call("me") }
                    // A call that has begun for certain: it waits for the table.
                    let id = try await withPostgresClient(service.database.url) { other in
                        try await other.withTransaction { transaction in
                            try await transaction.execute("LOCK TABLE app.note IN ACCESS EXCLUSIVE MODE")
                            let id = try await busy.request("record:query", #"{"record_type":"note"}"#)
                            try await waiting(until: "the call waits") {
                                try await service.database.psql(Self.waitingLocks) != "0"
                            }
                            await service.server.shutDown()
                            let closure = try await idle.closure()
                            #expect(closure.code == 1012)
                            let time = try #require(try JSONValue(closure.reason)["retry_after"].number)
                            #expect(time > 0 && time <= 10)
                            return id
                        }
                    }
                    #expect(try await busy.nextText()["id"].integer == id)
                    #expect(try await busy.closure().code == 1012)
                    try await idle.sendClose(1012)
                    try await busy.sendClose(1012)
                    #expect(try await idle.connection.isClosedByServer())
                    #expect(try await busy.connection.isClosedByServer())
                }
            }
        }
    }
}
