package import NIOCore
package import SkyrowModel

extension ClientAddress {
    /// Creates the address of a socket's peer; nil for a Unix socket.
    package init?(_ socket: SocketAddress) {
        guard let text = socket.ipAddress else { return nil }
        self.init(text)
    }
}
