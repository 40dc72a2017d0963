import Glibc
import Testing

@testable import SkyrowHTTP

@Suite struct BoundSocketTests {
    @Test func thePortThatTheSystemChoseIsKnownUntilTheServerTakesTheSocket() throws {
        let socket = try BoundSocket(host: "127.0.0.1", port: 0)
        let port = try #require(socket.port)
        #expect((1...65535).contains(port))
        let descriptor = try #require(socket.take())
        defer { close(descriptor) }
        #expect(socket.port == nil)
        // Who binds the same port is told that it is in use.
        try #require(listen(descriptor, 1) == 0)
        #expect(throws: ListenError.self) { try BoundSocket(host: "127.0.0.1", port: port) }
    }
}
