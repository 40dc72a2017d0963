package import NIOHTTP1
package import SkyrowActions
package import SkyrowModel

/// Finds the client of a request, and the key by which everything that clients share is counted: connections, bodies,
/// reads, calls and passwords.
///
/// ```swift
/// let clients = ClientIdentification(proxies: proxies, ipv6PrefixLength: 56)
/// let key = clients.key(of: clients.client(of: peer, headers: head.headers))
/// ```
package struct ClientIdentification: Hashable, Sendable {
    private let proxies: TrustedProxies
    private let ipv6PrefixLength: Int
    private let masterNetworks: [AddressRange]

    /// The machine itself.
    package static let loopback = [AddressRange("127.0.0.0/8"), AddressRange("::1")].compactMap { $0 }

    /// What a provider commonly delegates to one household.
    package static let usualPrefixLength = 56

    /// - Parameters:
    ///   - proxies: whose headers name the clients behind them.
    ///   - ipv6PrefixLength: how many leading bits of an IPv6 address stand for one client.
    ///   - masterNetworks: from where the master key counts, besides a Unix socket.
    package init(
        proxies: TrustedProxies = .none,
        ipv6PrefixLength: Int = ClientIdentification.usualPrefixLength,
        masterNetworks: [AddressRange] = ClientIdentification.loopback
    ) {
        self.proxies = proxies
        self.ipv6PrefixLength = ipv6PrefixLength
        self.masterNetworks = masterNetworks
    }

    /// The client for whom a request was made.
    package func client(of peer: Client, headers: HTTPHeaders) -> Client {
        proxies.client(of: peer, headers: headers)
    }

    /// Whether requests of many clients come through the other end of this connection.
    package func isProxy(_ peer: Client) -> Bool {
        proxies.trusts(peer)
    }

    /// Whether the master key counts when it comes from this client.
    package func admitsMasterKey(_ client: Client) -> Bool {
        guard let address = client.address else { return true }
        return masterNetworks.contains { $0.contains(address) }
    }

    package func key(of client: Client) -> ClientKey {
        guard let network = client.address?.network(length: ipv6PrefixLength) else { return .none }
        return ClientKey(high: network.high, low: network.low)
    }
}
