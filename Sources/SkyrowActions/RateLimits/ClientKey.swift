/// The identity of a client for sharing limits: the first bits of an address, in two halves. Both are zero for a client without
/// an address.
///
/// An IPv4 address counts whole, an IPv6 address by the configured prefix. See also ``site``.
package struct ClientKey: Hashable, Sendable {
    package let high: UInt64
    package let low: UInt64

    package init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    package static let none = ClientKey(high: 0, low: 0)

    /// The 48-bit network of an IPv6 client; nil for any other client.
    ///
    /// One customer may own a whole /48 and so 256 networks of 56 bits, each a separate client. Limits that clients share have a
    /// second, larger share for a whole site.
    package var site: ClientKey? {
        // Below ::/64 are the loopback address and IPv4 addresses, which are hosts, not networks.
        high == 0 ? nil : ClientKey(high: high & ~0xffff, low: 0)
    }
}
