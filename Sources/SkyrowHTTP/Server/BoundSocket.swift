import Glibc
import NIOCore
import Synchronization

/// A socket that has its address, and does not accept connections until a server takes it.
///
/// A service that cannot have its address finds out before it does anything else.
package final class BoundSocket: Sendable {
    private let number: Mutex<CInt?>

    /// - Parameters:
    ///   - host: a name or an address; the first address of a name counts.
    ///   - port: 0 lets the system choose a free one.
    ///
    /// Throws ``ListenError`` when the address is not to be had.
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

    /// The descriptor, whose owner is the caller from now on; nil when it was taken before.
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
