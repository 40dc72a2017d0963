#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// An IPv4 or IPv6 address, without a port.
///
/// ```swift
/// ClientAddress("192.0.2.7")?.description       // "192.0.2.7"
/// ClientAddress("::ffff:192.0.2.7")?.description // "192.0.2.7": one client, however the socket spells it
/// ```
package struct ClientAddress: Hashable, Sendable {
    /// The 128 bits in two halves; an IPv4 address is stored as IPv4-mapped IPv6 (RFC 4291, 2.5.5.2).
    package let high: UInt64
    package let low: UInt64

    init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    /// Parses an address without a port, brackets or zone; nil for anything else.
    package init?(_ text: some StringProtocol) {
        // Texts that end a C string early, or that a resolver would look up, are not addresses.
        guard text.utf8.count <= 45, text.utf8.allSatisfy(ClientAddress.isAddressByte) else { return nil }
        var four = in_addr()
        var six = in6_addr()
        if String(text).withCString({ inet_pton(AF_INET, $0, &four) }) == 1 {
            self.init(four)
        } else if String(text).withCString({ inet_pton(AF_INET6, $0, &six) }) == 1 {
            self.init(six)
        } else {
            return nil
        }
    }

    private init(_ address: in_addr) {
        self.init(high: 0, low: ClientAddress.mappedPrefix | UInt64(UInt32(bigEndian: address.s_addr)))
    }

    private init(_ address: in6_addr) {
        let (high, low) = withUnsafeBytes(of: address) { bytes in
            (
                UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 0, as: UInt64.self)),
                UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
            )
        }
        self.init(high: high, low: low)
    }

    package var isIPv4: Bool { high == 0 && low & ~0xffff_ffff == ClientAddress.mappedPrefix }

    /// Returns the network of `length` bits that contains the address; an IPv4 address, and every other address in ::/64, is
    /// returned as it is.
    package func network(length: Int) -> ClientAddress {
        // ::/64 holds the loopback address and mapped IPv4 addresses, each of which is one host.
        high == 0 ? self : masked(to: length)
    }

    /// Returns the address without the bits behind the first `length`.
    func masked(to length: Int) -> ClientAddress {
        ClientAddress(
            high: high & ClientAddress.mask(min(length, 64)),
            low: low & ClientAddress.mask(max(length - 64, 0))
        )
    }

    /// Returns a word whose first `bits` bits are set.
    private static func mask(_ bits: Int) -> UInt64 {
        bits == 0 ? 0 : ~0 << UInt64(64 - bits)
    }

    private static let mappedPrefix: UInt64 = 0xffff_0000_0000

    private static func isAddressByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"),
            UInt8(ascii: "A")...UInt8(ascii: "F"), UInt8(ascii: "."), UInt8(ascii: ":"):
            true
        default:
            false
        }
    }
}

extension ClientAddress: CustomStringConvertible {
    package var description: String {
        if isIPv4 {
            // Written by hand, since the log line of every request contains it.
            return String(unsafeUninitializedCapacity: 15) { target in
                var end = 0
                func append(_ byte: UInt64) {
                    target[end] = UInt8(truncatingIfNeeded: byte)
                    end += 1
                }
                for shift in [24, 16, 8, 0] as [UInt64] {
                    let number = low >> shift & 0xff
                    if number >= 100 { append(0x30 + number / 100) }
                    if number >= 10 { append(0x30 + number / 10 % 10) }
                    append(0x30 + number % 10)
                    if shift > 0 { append(0x2e) }
                }
                return end
            }
        }
        let bytes = (high.bigEndian, low.bigEndian)
        // The length of the longest text with its terminator (INET6_ADDRSTRLEN).
        return String(unsafeUninitializedCapacity: 46) { target in
            target.withMemoryRebound(to: CChar.self) { text in
                let end = withUnsafeBytes(of: bytes) {
                    inet_ntop(AF_INET6, $0.baseAddress, text.baseAddress, socklen_t(text.count))
                }
                return end.map(strlen) ?? 0
            }
        }
    }
}
