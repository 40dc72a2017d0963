package import SkyrowModel

/// The addresses to which the service connects for external documents.
///
/// A third party's host name may resolve to a machine of the operator's network. So the gate judges neither the name
/// nor an earlier resolved address, but the address of the connection about to be opened.
///
/// ```swift
/// AddressGate().admits(ClientAddress("10.1.2.3")!)  // false
/// ```
package struct AddressGate: Hashable, Sendable {
    private let exceptions: [AddressRange]
    private let admitsLoopback: Bool

    /// - Parameters:
    ///   - exceptions: Private networks that are allowed.
    ///   - admitsLoopback: Whether the loopback interface is allowed.
    package init(exceptions: [AddressRange] = [], admitsLoopback: Bool = false) {
        self.exceptions = exceptions
        self.admitsLoopback = admitsLoopback
    }

    package func admits(_ address: ClientAddress) -> Bool {
        if exceptions.contains(where: { $0.contains(address) }) { return true }
        if admitsLoopback, AddressGate.loopback.contains(where: { $0.contains(address) }) { return true }
        if address.isIPv4 { return !AddressGate.specialIPv4.contains { $0.contains(address) } }
        return AddressGate.globalIPv6.contains { $0.contains(address) }
            && !AddressGate.specialIPv6.contains { $0.contains(address) }
    }

    private static let loopback = ranges(["127.0.0.0/8", "::1"])

    /// Addresses that IANA's registry lists as not globally reachable, multicast, and reserved ones.
    private static let specialIPv4 = ranges([
        "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24",
        "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24",
        "224.0.0.0/4", "240.0.0.0/4",
    ])

    private static let globalIPv6 = ranges(["2000::/3"])

    /// Exceptions from the global range: special addresses, and tunnels, which embed IPv4 addresses.
    private static let specialIPv6 = ranges(["2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20"])

    private static func ranges(_ texts: [String]) -> [AddressRange] {
        texts.compactMap { AddressRange($0) }
    }
}
