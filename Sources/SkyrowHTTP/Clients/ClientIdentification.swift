package import NIOHTTP1
package import SkyrowActions
package import SkyrowModel

/// Identifies the client of a request, and the key by which its shared resources are counted: connections, bodies, reads, calls
/// and passwords.
///
/// ```swift
/// let clients = ClientIdentification(proxies: proxies, ipv6PrefixLength: 56)
/// let key = clients.key(of: clients.client(of: peer, headers: head.headers))
/// ```
package struct ClientIdentification: Hashable, Sendable {
    private let proxies: TrustedProxies
    private let ipv6PrefixLength: Int
    private let masterNetworks: [AddressRange]

    /// The local machine.
    package static let loopback = [AddressRange("127.0.0.0/8"), AddressRange("::1")].compactMap { $0 }

    /// The prefix length that providers commonly delegate to one household.
    package static let usualPrefixLength = 56

    /// - Parameters:
    ///   - proxies: The proxies whose headers name the clients behind them.
    ///   - ipv6PrefixLength: How many leading bits of an IPv6 address identify one client.
    ///   - masterNetworks: The networks from which the master key is accepted, in addition to Unix sockets.
    package init(
        proxies: TrustedProxies = .none,
        ipv6PrefixLength: Int = ClientIdentification.usualPrefixLength,
        masterNetworks: [AddressRange] = ClientIdentification.loopback
    ) {
        self.proxies = proxies
        self.ipv6PrefixLength = ipv6PrefixLength
        self.masterNetworks = masterNetworks
    }

    /// The client on whose behalf a request was made.
    package func client(of peer: Client, headers: HTTPHeaders) -> Client {
        proxies.client(of: peer, headers: headers)
    }

    /// Whether the peer is a proxy, whose connection carries requests of many clients.
    package func isProxy(_ peer: Client) -> Bool {
        proxies.trusts(peer)
    }

    /// Whether the master key is accepted from this client.
    package func admitsMasterKey(_ client: Client) -> Bool {
        guard let address = client.address else { return true }
        return masterNetworks.contains { $0.contains(address) }
    }

    package func key(of client: Client) -> ClientKey {
        guard let network = client.address?.network(length: ipv6PrefixLength) else { return .none }
        return ClientKey(high: network.high, low: network.low)
    }
}
