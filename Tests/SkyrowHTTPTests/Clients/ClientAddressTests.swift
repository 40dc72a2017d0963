import NIOCore
import SkyrowHTTP
import SkyrowModel
import Testing

@testable import SkyrowActions

@Suite struct ClientAddressTests {
    @Test(arguments: [
        ("192.0.2.7", "192.0.2.7"),
        ("0.0.0.0", "0.0.0.0"),
        ("255.255.255.255", "255.255.255.255"),
        ("9.10.99.100", "9.10.99.100"),
        ("127.0.0.1", "127.0.0.1"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("::FFFF:C000:0207", "192.0.2.7"),
        ("::1", "::1"),
        ("::", "::"),
        ("2001:DB8:0:0:0:0:0:1", "2001:db8::1"),
        ("fe80::1:2", "fe80::1:2"),
        ("1111:2222:3333:4444:5555:6666:7777:8888", "1111:2222:3333:4444:5555:6666:7777:8888"),
    ])
    func anAddressHasOneSpelling(text: String, spelling: String) throws {
        let address = try #require(ClientAddress(text))
        #expect(address.description == spelling)
        #expect(ClientAddress(spelling) == address)
        #expect(address.isIPv4 == !spelling.contains(":"))
    }

    @Test(arguments: [
        "", " ", "localhost", "192.0.2", "192.0.2.7.", "192.0.2.256", "192.0.2.07", "0x7f.1", "2130706433",
        "192.0.2.7:80",
        "192.0.2.7\0", "192.0.2.7/32", ":", ":::", "1::2::3", "[::1]", "::1%eth0", "fe80::1%1", "g::1", "１.2.3.4",
        "1111:2222:3333:4444:5555:6666:7777:8888:9999", " 192.0.2.7", "192.0.2.7 ", "unknown",
    ])
    func whatIsNoAddressIsNotRead(_ text: String) {
        #expect(ClientAddress(text) == nil)
    }

    @Test func socketsAndTextAgree() throws {
        for text in ["192.0.2.7", "2001:db8::1", "::ffff:10.1.2.3"] {
            #expect(try ClientAddress(SocketAddress(ipAddress: text, port: 4711)) == ClientAddress(text))
        }
        #expect(try ClientAddress(SocketAddress(unixDomainSocketPath: "/tmp/socket")) == nil)
    }

    @Test(arguments: [
        ("192.0.2.7", 56, "192.0.2.7"), ("192.0.2.7", 32, "192.0.2.7"), ("::1", 56, "::1"),
        ("2001:db8:1:2:3:4:5:6", 64, "2001:db8:1:2::"), ("2001:db8:1:2fe:3:4:5:6", 56, "2001:db8:1:200::"),
        ("2001:db8:1:2:3:4:5:6", 48, "2001:db8:1::"), ("2001:db8:1:2:3:4:5:6", 80, "2001:db8:1:2:3::"),
        ("2001:db8:1:2:3:4:5:6", 128, "2001:db8:1:2:3:4:5:6"),
    ])
    func theNetworkOfAnAddressIsAPrefixOfIPv6(address: String, length: Int, network: String) {
        #expect(ClientAddress(address)?.network(length: length) == ClientAddress(network))
    }

    @Test func aSiteIsANetworkOf48Bits() throws {
        let clients = ClientIdentification(ipv6PrefixLength: 56)
        func key(_ text: String) throws -> ClientKey {
            let address = try #require(ClientAddress(text))
            return clients.key(of: Client(address: address, isSecure: false))
        }
        // Two /56 of one /48 are two clients of one site.
        #expect(try key("2001:db8:1:100::1") != key("2001:db8:1:200::1"))
        #expect(try key("2001:db8:1:100::1") == key("2001:db8:1:1ff::1"))
        #expect(try key("2001:db8:1:100::1").site == key("2001:db8:1:200::1").site)
        #expect(try key("2001:db8:1:100::1").site != key("2001:db8:2:100::1").site)
        #expect(try key("192.0.2.7").site == nil)
        #expect(try key("::1").site == nil)
        #expect(try key("::1") != .none)
        #expect(clients.key(of: Client(address: nil, isSecure: false)) == .none)
    }

    struct RangeRow: Sendable {
        var range: String
        var inside: [String]
        var outside: [String]

        init(_ range: String, inside: [String], outside: [String]) {
            self.range = range
            self.inside = inside
            self.outside = outside
        }
    }

    @Test(arguments: [
        RangeRow(
            "10.0.0.0/8",
            inside: ["10.0.0.0", "10.255.255.255", "::ffff:10.1.1.1"],
            outside: ["11.0.0.0", "9.255.0.1"]
        ),
        RangeRow("192.0.2.128/25", inside: ["192.0.2.128", "192.0.2.255"], outside: ["192.0.2.127", "192.0.3.128"]),
        RangeRow("192.0.2.7", inside: ["192.0.2.7"], outside: ["192.0.2.6", "::192.0.2.7", "::1"]),
        RangeRow("192.0.2.7/32", inside: ["192.0.2.7"], outside: ["192.0.2.6"]),
        RangeRow("0.0.0.0/0", inside: ["1.2.3.4", "255.0.0.1"], outside: ["::1", "::"]),
        RangeRow("::/0", inside: ["::1", "2001:db8::1"], outside: ["1.2.3.4"]),
        RangeRow("::1", inside: ["::1"], outside: ["::2", "127.0.0.1", "::"]),
        RangeRow(
            "2001:db8::/32",
            inside: ["2001:db8::1", "2001:db8:ffff::"],
            outside: ["2001:db9::", "2001:db7:ffff::"]
        ),
        RangeRow("2001:db8::/65", inside: ["2001:db8::7fff:0:0:1"], outside: ["2001:db8::8000:0:0:1"]),
        RangeRow("::ffff:10.0.0.0/104", inside: ["10.9.8.7"], outside: ["11.0.0.0", "::1"]),
    ])
    func aRangeHoldsWhatBeginsLikeIt(_ row: RangeRow) throws {
        let range = try #require(AddressRange(row.range))
        for address in row.inside { #expect(try range.contains(#require(ClientAddress(address))), "\(address)") }
        for address in row.outside { #expect(try !range.contains(#require(ClientAddress(address))), "\(address)") }
    }

    @Test(arguments: [
        "", "/8", "10.0.0.0/", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/+8", "10.0.0.0/8/8", "10.0.0.0/a", "10.0.0.1/8",
        "2001:db8::/129", "2001:db8::1/64", "localhost", "10.0.0.0/255.0.0.0", "10.0.0.0 /8", "10/8",
    ])
    func whatIsNoRangeIsNotRead(_ text: String) {
        #expect(AddressRange(text) == nil)
    }
}
