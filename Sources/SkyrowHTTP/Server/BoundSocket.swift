import Glibc
import NIOCore
import Synchronization

/// A socket that is bound to its address and does not accept connections until a server takes it.
///
/// Binding early makes a service fail before it does anything else when its address is unavailable.
package final class BoundSocket: Sendable {
    private let number: Mutex<CInt?>

    /// - Parameters:
    ///   - host: A name or an address; of a name, the first address is used.
    ///   - port: 0 lets the system choose a free one.
    ///
    /// Throws ``ListenError`` when the address is unavailable.
    package init(host: String, port: Int) throws(ListenError) {
        guard let address = try? SocketAddress.makeAddressResolvingHost(host, port: port) else {
            throw ListenError(code: EADDRNOTAVAIL)
        }
        let type = CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
        let number = socket(CInt(address.protocol.rawValue), type, 0)
        guard number >= 0 else { throw ListenError(code: errno) }
        var isOn: CInt = 1
        setsockopt(number, SOL_SOCKET, SO_REUSEADDR, &isOn, socklen_t(MemoryLayout<CInt>.size))
        let failure = address.withSockAddr { bind(number, $0, socklen_t($1)) == 0 ? nil : errno }
        self.number = Mutex(number)
        if let failure { throw ListenError(code: failure) }
    }

    /// The port, even if the system chose it; nil after the descriptor was taken.
    package var port: Int? {
        number.withLock { number in
            guard let number else { return nil }
            var address = sockaddr_storage()
            var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
            return withUnsafeMutableBytes(of: &address) { bytes in
                guard let start = bytes.baseAddress,
                    getsockname(number, start.assumingMemoryBound(to: sockaddr.self), &length) == 0
                else { return nil }
                // The port follows the two bytes of the family, in addresses of IPv4 and IPv6.
                return Int(bytes[2]) << 8 | Int(bytes[3])
            }
        }
    }

    /// Returns the descriptor, which the caller then owns; nil when it was already taken.
    func take() -> CInt? {
        number.withLock { number in
            defer { number = nil }
            return number
        }
    }

    deinit {
        if let number = take() { close(number) }
    }
}
