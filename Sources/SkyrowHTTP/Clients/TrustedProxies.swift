package import NIOHTTP1
package import SkyrowModel

/// The other end of a connection, or of a chain of proxies.
package struct Client: Hashable, Sendable {
    /// nil when the client connected through a Unix socket.
    package var address: ClientAddress?
    /// Whether the client connected over TLS.
    package var isSecure: Bool

    package init(address: ClientAddress?, isSecure: Bool) {
        self.address = address
        self.isSecure = isSecure
    }
}

/// The proxies that are trusted to name the clients behind them.
///
/// ```swift
/// let proxies = TrustedProxies([AddressRange("10.0.0.0/8")!])
/// let client = proxies.client(of: peer, headers: request.head.headers)
/// ```
package struct TrustedProxies: Hashable, Sendable {
    /// The header in which the proxies name their clients.
    ///
    /// Only one is read, because a proxy that writes one of the two passes on the other as the client sent it.
    package enum Header: String, Hashable, Sendable, CaseIterable {
        /// `X-Forwarded-For` with `X-Forwarded-Proto`
        case forwardedFor = "x-forwarded-for"
        /// `Forwarded` (RFC 7239)
        case forwarded
    }

    private let ranges: [AddressRange]
    private let header: Header

    /// No proxy is trusted: the client is the peer of the connection.
    package static let none = TrustedProxies([])

    package init(_ ranges: [AddressRange], header: Header = .forwardedFor) {
        self.ranges = ranges
        self.header = header
    }

    /// Returns the client on whose behalf a request was made.
    ///
    /// The chain is followed from the connection towards the client as long as the sender is trusted; the client may have forged
    /// entries further left. An unreadable entry ends the search at the proxy that sent it.
    package func client(of peer: Client, headers: HTTPHeaders) -> Client {
        guard trusts(peer) else { return peer }
        var client = peer
        for hop in hops(headers).reversed() {
            if let isSecure = hop.isSecure { client.isSecure = isSecure }
            guard let address = hop.address else { break }
            client.address = address
            guard trusts(client) else { break }
        }
        return client
    }

    /// Whether the client is one of the proxies.
    package func trusts(_ client: Client) -> Bool {
        guard !ranges.isEmpty, let address = client.address else { return false }
        return ranges.contains { $0.contains(address) }
    }

    /// The hops that the proxies report, the nearest one last.
    private func hops(_ headers: HTTPHeaders) -> [ForwardedHop] {
        switch header {
        case .forwardedFor:
            ForwardedHop.list(addresses: headers["x-forwarded-for"], protocols: headers["x-forwarded-proto"])
        case .forwarded:
            ForwardedHop.list(forwarded: headers["forwarded"])
        }
    }
}
