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

/// Serves HTTP/1.1 until it is told to shut down.
///
/// ```swift
/// let server = HTTPServer(address: .host("127.0.0.1", port: 3000), responder: doors, logger: logger)
/// try await server.run()
/// ```
///
/// On a graceful shutdown it stops accepting, finishes what it accepted within `limits.shutdown`, and returns.
package struct HTTPServer: Service {
    private let address: ListenAddress
    private let limits: HTTPLimits
    private let threads: Int
    private let responder: any HTTPResponder
    private let logger: Logger
    private let onRunning: @Sendable (Int?) async -> Void

    /// - Parameters:
    ///   - threads: Event loops; one a processor unless said otherwise.
    ///   - onRunning: Called with the port, if there is one, once connections are accepted.
    package init(
        address: ListenAddress,
        limits: HTTPLimits = HTTPLimits(),
        threads: Int? = nil,
        responder: any HTTPResponder,
        logger: Logger,
        onRunning: @escaping @Sendable (Int?) async -> Void = { _ in }
    ) {
        self.address = address
        self.limits = limits
        self.threads = threads ?? System.coreCount
        self.responder = responder
        self.logger = logger
        self.onRunning = onRunning
    }

    package func run() async throws {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: threads)
        let channel = HTTP1ServerChannel(group: group, limits: limits, responder: responder)
        let onRunning = onRunning
        let server = Server(
            childChannelSetup: channel,
            configuration: ServerConfiguration(address: address.bindAddress, backlog: 1024),
            onServerRunning: { await onRunning($0.localAddress?.port) },
            eventLoopGroup: group,
            logger: logger
        )
        var failure: (any Error)?
        do {
            do {
                try await server.run()
            } catch let error as IOError {
                throw ListenError(code: error.errnoCode)
            }
        } catch {
            failure = error
        }
        // Hummingbird's own end of the shutdown may still be on its way to an event loop, which must live until then.
        try? await server.shutdownGracefully()
        try await group.shutdownGracefully()
        if let failure { throw failure }
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
