package import NIOCore
package import SkyrowModel

extension ClientAddress {
    /// The address of a socket's other end; nil for a Unix socket.
    package init?(_ socket: SocketAddress) {
        guard let text = socket.ipAddress else { return nil }
        self.init(text)
    }
}
