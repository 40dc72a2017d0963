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
        var address = sockaddr_in()
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let result = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &length) }
        }
        #expect(result == 0 && Int(UInt16(bigEndian: address.sin_port)) == port)
    }
}
