import NIOHTTP1
import SkyrowModel
import SkyrowTestSupport
import Testing

@testable import SkyrowHTTP

/// Whose request it is, from what the connection and the headers say. 10.… and fd00::… are trusted.
@Suite struct TrustedProxiesTests {
    struct Row: Sendable {
        var peer: String?
        var headers: [(String, String)]
        var client: String?
        var isSecure: Bool

        init(_ peer: String?, _ headers: [(String, String)], _ client: String?, isSecure: Bool = false) {
            self.peer = peer
            self.headers = headers
            self.client = client
            self.isSecure = isSecure
        }
    }

    private static func client(_ row: Row, _ header: TrustedProxies.Header) throws -> Client {
        let ranges = try ["10.0.0.0/8", "fd00::/8"].map { try #require(AddressRange($0)) }
        let peer = Client(address: try row.peer.map { try #require(ClientAddress($0)) }, isSecure: false)
        return TrustedProxies(ranges, header: header).client(of: peer, headers: HTTPHeaders(row.headers))
    }

    private static func check(_ row: Row, _ header: TrustedProxies.Header) throws {
        let client = try Self.client(row, header)
        #expect(client.address?.description == row.client)
        #expect(client.isSecure == row.isSecure)
    }

    private static let xff = "X-Forwarded-For"
    private static let proto = "X-Forwarded-Proto"

    @Test(arguments: [
        // Nobody in between.
        Row("192.0.2.7", [], "192.0.2.7"),
        Row("10.0.0.1", [], "10.0.0.1"),
        Row(nil, [(xff, "192.0.2.7")], nil),
        // A client that writes the header itself.
        Row("192.0.2.7", [(xff, "198.51.100.1")], "192.0.2.7"),
        Row("192.0.2.7", [(xff, "10.0.0.1"), (proto, "https")], "192.0.2.7"),
        // One proxy.
        Row("10.0.0.1", [(xff, "192.0.2.7")], "192.0.2.7"),
        Row("10.0.0.1", [(xff, "192.0.2.7"), (proto, "https")], "192.0.2.7", isSecure: true),
        Row("10.0.0.1", [(xff, "192.0.2.7"), (proto, "http")], "192.0.2.7"),
        Row("10.0.0.1", [(proto, "https")], "10.0.0.1", isSecure: true),
        Row("fd00::1", [(xff, "2001:db8::7")], "2001:db8::7"),
        Row("::ffff:10.0.0.1", [(xff, "::ffff:192.0.2.7")], "192.0.2.7"),
        // A client behind it that writes the header itself.
        Row("10.0.0.1", [(xff, "198.51.100.1, 192.0.2.7")], "192.0.2.7"),
        Row("10.0.0.1", [(xff, "198.51.100.1"), (xff, "192.0.2.7")], "192.0.2.7"),
        Row("10.0.0.1", [(xff, "10.0.0.9, 192.0.2.7")], "192.0.2.7"),
        Row("10.0.0.1", [(xff, "198.51.100.1\u{600}, 192.0.2.7")], "192.0.2.7"),
        Row("10.0.0.1", [(xff, "198.51.100.1,\u{301} 192.0.2.7")], "10.0.0.1"),
        Row("10.0.0.1", [(xff, "198.51.100.1"), ("Forwarded", "for=198.51.100.2")], "198.51.100.1"),
        Row("10.0.0.1", [("Forwarded", "for=198.51.100.2;proto=https")], "10.0.0.1"),
        Row("10.0.0.1", [(xff, "192.0.2.7"), (proto, "https, http")], "192.0.2.7"),
        // Two proxies.
        Row("10.0.0.1", [(xff, "192.0.2.7, 10.0.0.2")], "192.0.2.7"),
        Row("10.0.0.1", [(xff, "198.51.100.1, 192.0.2.7,fd00::2")], "192.0.2.7"),
        Row("10.0.0.1", [(xff, "192.0.2.7, 10.0.0.2"), (proto, "https, http")], "192.0.2.7", isSecure: true),
        Row("10.0.0.1", [(xff, "192.0.2.7, 10.0.0.2"), (proto, "https")], "192.0.2.7", isSecure: true),
        Row("10.0.0.1", [(xff, "198.51.100.1, 192.0.2.7, 10.0.0.2"), (proto, "https,http,http")], "192.0.2.7"),
        // The client is a trusted host itself.
        Row("10.0.0.1", [(xff, "10.0.0.3, 10.0.0.2")], "10.0.0.3"),
        // Ports, brackets, spaces.
        Row("10.0.0.1", [(xff, "192.0.2.7:4711")], "192.0.2.7"),
        Row("10.0.0.1", [(xff, " \t[2001:db8::7]:4711\t ")], "2001:db8::7"),
        Row("10.0.0.1", [(xff, "[2001:db8::7]")], "2001:db8::7"),
        // What cannot be read ends the walk where it is.
        Row("10.0.0.1", [(xff, "")], "10.0.0.1"),
        Row("10.0.0.1", [(xff, "192.0.2.7, unknown")], "10.0.0.1"),
        Row("10.0.0.1", [(xff, "192.0.2.7, , 10.0.0.2")], "10.0.0.2"),
        Row("10.0.0.1", [(xff, "192.0.2.7,")], "10.0.0.1"),
        Row("10.0.0.1", [(xff, "192.0.2.7:99999999999999999")], "10.0.0.1"),
        Row("10.0.0.1", [(xff, "[192.0.2.7]")], "10.0.0.1"),
        Row("10.0.0.1", [(xff, "[2001:db8::7")], "10.0.0.1"),
        Row("10.0.0.1", [(xff, "[2001:db8::7]x")], "10.0.0.1"),
        Row("10.0.0.1", [(xff, "192.0.2.7 evil")], "10.0.0.1"),
        Row("10.0.0.1", [(xff, "\"192.0.2.7\"")], "10.0.0.1"),
        Row("10.0.0.1", [(xff, "192.0.2.7\u{0}")], "10.0.0.1"),
        Row("10.0.0.1", [(xff, String(repeating: "10.0.0.9,", count: 2000) + "192.0.2.7")], "192.0.2.7"),
        Row("10.0.0.1", [(xff, "192.0.2.7" + String(repeating: ",10.0.0.9", count: 40))], "10.0.0.9"),
    ])
    func xForwardedForIsReadFromTheRight(_ row: Row) throws {
        try Self.check(row, .forwardedFor)
    }

    @Test(arguments: [
        Row("10.0.0.1", [("Forwarded", "for=192.0.2.7")], "192.0.2.7"),
        Row("10.0.0.1", [("forwarded", "For=\"[2001:DB8::7]:4711\";Proto=HTTPS")], "2001:db8::7", isSecure: true),
        Row(
            "10.0.0.1",
            [("Forwarded", "proto=https;by=10.0.0.1;for=192.0.2.7:80;host=x")],
            "192.0.2.7",
            isSecure: true
        ),
        Row("10.0.0.1", [("Forwarded", "for=192.0.2.7:_port")], "192.0.2.7"),
        Row("10.0.0.1", [("Forwarded", "proto=https")], "10.0.0.1", isSecure: true),
        // Two proxies, in one line and in two.
        Row(
            "10.0.0.1",
            [("Forwarded", "for=192.0.2.7;proto=https, for=10.0.0.2;proto=http")],
            "192.0.2.7",
            isSecure: true
        ),
        Row("10.0.0.1", [("Forwarded", "for=192.0.2.7"), ("Forwarded", "for=\"[fd00::2]\"")], "192.0.2.7"),
        // Of the client's own making.
        Row("192.0.2.7", [("Forwarded", "for=198.51.100.1;proto=https")], "192.0.2.7"),
        Row("10.0.0.1", [("Forwarded", "for=198.51.100.1;proto=https, for=192.0.2.7;proto=http")], "192.0.2.7"),
        Row("10.0.0.1", [("Forwarded", "for=192.0.2.7"), (xff, "198.51.100.1"), (proto, "https")], "192.0.2.7"),
        Row("10.0.0.1", [(xff, "198.51.100.1"), (proto, "https")], "10.0.0.1"),
        Row("10.0.0.1", [("Forwarded", "for=198.51.100.1;x=\", for=192.0.2.7")], "10.0.0.1"),
        Row("10.0.0.1", [("Forwarded", "for=\"198.51.100.1, for=192.0.2.7\"")], "10.0.0.1"),
        Row("10.0.0.1", [("Forwarded", "x=\"\\\"\", for=192.0.2.7")], "192.0.2.7"),
        Row("10.0.0.1", [("Forwarded", "for=1.1.1.1;x=\""), ("Forwarded", "for=192.0.2.7")], "192.0.2.7"),
        Row("10.0.0.1", [("Forwarded", "for=192.0.2.7;host=\"a,for=1.1.1.1;b\"")], "192.0.2.7"),
        Row("10.0.0.1", [("Forwarded", "for=1.1.1.1;for=192.0.2.7")], "10.0.0.1"),
        // Hidden, or not readable.
        Row("10.0.0.1", [("Forwarded", "for=192.0.2.7, for=unknown;proto=https")], "10.0.0.1", isSecure: true),
        Row("10.0.0.1", [("Forwarded", "for=_hidden")], "10.0.0.1"),
        Row("10.0.0.1", [("Forwarded", "for=192.0.2.7,for=")], "10.0.0.1"),
        Row("10.0.0.1", [("Forwarded", "for")], "10.0.0.1"),
        Row("10.0.0.1", [("Forwarded", "")], "10.0.0.1"),
        Row("10.0.0.1", [("Forwarded", "for=192.0.2.7, ")], "10.0.0.1"),
    ])
    func forwardedIsReadFromTheRight(_ row: Row) throws {
        try Self.check(row, .forwarded)
    }

    @Test func nobodyIsTrustedUnlessNamed() throws {
        let peer = Client(address: ClientAddress("127.0.0.1"), isSecure: false)
        let headers = HTTPHeaders([(Self.xff, "192.0.2.7"), (Self.proto, "https")])
        #expect(TrustedProxies.none.client(of: peer, headers: headers) == peer)
    }

    /// The address reaches the log line, of responses and of refusals.
    @Test(arguments: [(true, "client=192.0.2.7"), (false, "client=127.0.0.1")])
    func theLogNamesTheClient(isTrusted: Bool, expected: String) async throws {
        let lines = LogLines()
        let proxies = isTrusted ? TrustedProxies([try #require(AddressRange("127.0.0.0/8"))]) : .none
        try await withService(proxies: proxies, logger: lines.logger) { service in
            try await withConnection(port: service.port) { connection in
                let headers = [("X-Forwarded-For", "192.0.2.7")]
                try await connection.get("/healthz", headers: headers)
                _ = try await connection.response()
                try await connection.get("/healthz", headers: headers + [("Expect", "wonders")])
                let refusal = try await connection.response()
                #expect(refusal.status == 417)
            }
        }
        let requests = lines.all.filter { $0.hasPrefix("Request ") }
        #expect(requests.count == 2)
        #expect(requests.allSatisfy { $0.contains(expected) }, "\(requests)")
    }
}
