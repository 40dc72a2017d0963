import Foundation
import Testing

@testable import SkyrowClient

/// What every transport must do; a new one is tested by adding it here.
@Suite struct TransportTests {
    private let transport: any Transport = URLSessionTransport(timeout: .seconds(20))

    private func request(_ url: URL, _ body: String = "{}") -> TransportRequest {
        TransportRequest(
            url: url,
            headers: [("Content-Type", "application/json"), ("X-Skygear-API-Key", "k"), ("Authorization", "Bearer t")],
            body: Array(body.utf8)
        )
    }

    @Test func itPostsHeadersAndBody() async throws {
        let server = try LocalServer(["HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}"])
        let response = try await transport.send(request(server.url, #"{"é":1}"#))
        #expect(response.status == 200)
        #expect(response.body == Array("{}".utf8))
        let head = try #require(server.receivedHeads.first)
        #expect(head.hasPrefix("POST /rpc HTTP/1.1\r\n"))
        let lines = head.lowercased().split(separator: "\r\n")
        for line in ["content-type: application/json", "x-skygear-api-key: k", "authorization: bearer t"] {
            #expect(lines.contains(where: { $0 == line }), "\(line)")
        }
        #expect(server.receivedBodies == [Array(#"{"é":1}"#.utf8)])
    }

    @Test(arguments: [400, 401, 404, 409, 500, 503])
    func itPassesEveryStatusOn(status: Int) async throws {
        let server = try LocalServer(["HTTP/1.1 \(status) X\r\nContent-Length: 4\r\nConnection: close\r\n\r\nbody"])
        let response = try await transport.send(request(server.url))
        #expect(response.status == status)
        #expect(response.body == Array("body".utf8))
    }

    @Test func itReadsAnEmptyAnswer() async throws {
        let server = try LocalServer(["HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n"])
        let response = try await transport.send(request(server.url))
        #expect(response.status == 204)
        #expect(response.body.isEmpty)
    }

    /// A redirection must not carry key and token to another host.
    @Test(arguments: [301, 302, 307, 308])
    func itPassesRedirectionsOnInsteadOfFollowingThem(status: Int) async throws {
        let other = try LocalServer(["HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n"])
        let head =
            "HTTP/1.1 \(status) X\r\nLocation: \(other.url.absoluteString)\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        let server = try LocalServer([head])
        let response = try await transport.send(request(server.url))
        #expect(response.status == status)
        #expect(other.receivedHeads.isEmpty)
    }

    @Test(arguments: ["", "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf"])
    func itThrowsWhenTheConnectionBreaks(response: String) async throws {
        let server = try LocalServer([response])
        await #expect(throws: (any Error).self) { try await transport.send(request(server.url)) }
    }

    @Test func itThrowsWhenNobodyListens() async throws {
        // The server ends its only connection and its port, and nobody else is given that port at once.
        let server = try LocalServer(["HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n"])
        _ = try await transport.send(request(server.url))
        await #expect(throws: (any Error).self) { try await transport.send(request(server.url)) }
    }

    @Test func aClientSpeaksThroughIt() async throws {
        let body = #"{"jsonrpc":"2.0","id":1,"result":{"record_types":{}}}"#
        let server = try LocalServer([
            "HTTP/1.1 200 OK\r\nContent-Length: \(body.utf8.count)\r\nConnection: close\r\n\r\n\(body)"
        ])
        let client = SkyrowClient(
            endpoint: server.url.deletingLastPathComponent(),
            apiKey: "k",
            transport: transport,
            retryPolicy: .never
        )
        #expect(try await client.schema().types.isEmpty)
        #expect(server.receivedHeads.first?.hasPrefix("POST /rpc ") == true)
    }
}
