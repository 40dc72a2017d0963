import Glibc
import HummingbirdCore
package import Logging
import NIOCore
import NIOPosix
import ServiceLifecycle

/// Where a server listens.
package enum ListenAddress: Hashable, Sendable {
    /// Port 0 lets the system choose a free one.
    case host(String, port: Int)
    case unixSocket(path: String)
}

/// Serves HTTP/1.1, and with a certificate HTTPS and HTTP/2, until its shutdown.
///
/// ```swift
/// let server = HTTPServer(address: .host("127.0.0.1", port: 3000), responder: responder, logger: logger)
/// try await server.run()
/// ```
///
/// It runs on the process's own event loops, one a processor. On a graceful shutdown it stops accepting, finishes what it
/// accepted within `limits.shutdown`, and returns.
package struct HTTPServer: Service {
    private let address: ListenAddress
    private let limits: HTTPLimits
    private let certificate: ServerCertificate?
    private let responder: any HTTPResponder
    private let clients: ClientIdentification
    private let counts: HTTPServerCounts
    private let logger: Logger
    private let onRunning: @Sendable (Int?) async -> Void

    /// - Parameters:
    ///   - certificate: with one, nothing but TLS is served; its own `run()` is its owner's affair.
    ///   - clients: how clients are identified; each has a share.
    ///   - counts: what its connections share, of the same limits; counts of its own when missing.
    ///   - onRunning: called with the port, if there is one, once connections are accepted.
    package init(
        address: ListenAddress,
        limits: HTTPLimits = HTTPLimits(),
        certificate: ServerCertificate? = nil,
        responder: any HTTPResponder,
        clients: ClientIdentification = ClientIdentification(),
        counts: HTTPServerCounts? = nil,
        logger: Logger,
        onRunning: @escaping @Sendable (Int?) async -> Void = { _ in }
    ) {
        self.address = address
        self.limits = limits
        self.certificate = certificate
        self.responder = responder
        self.clients = clients
        self.counts = counts ?? HTTPServerCounts(limits: limits)
        self.logger = logger
        self.onRunning = onRunning
    }

    /// Throws ``ListenError`` when it cannot listen at its address.
    package func run() async throws {
        // Loops of our own would have to outlive Hummingbird's end of the shutdown and every request that was cancelled but
        // has not ended; the process's loops live as long as it does.
        let group = MultiThreadedEventLoopGroup.singleton
        let channel = ServerChannel(
            group: group,
            limits: limits,
            certificate: certificate,
            clients: clients,
            counts: counts,
            responder: responder
        )
        let onRunning = onRunning
        let server = Server(
            childChannelSetup: channel,
            configuration: ServerConfiguration(address: address.bindAddress, backlog: 1024),
            onServerRunning: { await onRunning($0.localAddress?.port) },
            eventLoopGroup: group,
            logger: logger
        )
        do {
            try await server.run()
        } catch let error as IOError {
            throw ListenError(code: error.errnoCode)
        }
    }
}

/// Why a server cannot listen at its address.
package struct ListenError: Error, CustomStringConvertible {
    /// The `errno` of the system call that failed, such as `EADDRINUSE`.
    package let code: CInt

    package var description: String { String(cString: strerror(code)) }
}

extension ListenAddress {
    fileprivate var bindAddress: BindAddress {
        switch self {
        case .host(let host, let port): .hostname(host, port: port)
        case .unixSocket(let path): .unixDomainSocket(path: path)
        }
    }
}
