import Glibc
package import Logging
import NIOCore
import NIOPosix
import ServiceLifecycle

/// Serves HTTP/1.1, and with a certificate HTTPS and HTTP/2, until its shutdown.
///
/// ```swift
/// let server = HTTPServer(host: "127.0.0.1", port: 3000, responder: responder, logger: logger)
/// try await server.run()
/// ```
///
/// It runs on the process's shared event loops, one per processor. On a graceful shutdown it stops accepting, finishes accepted
/// requests within `limits.shutdown`, and returns.
package struct HTTPServer: Service {
    private let host: String
    private let port: Int
    private let socket: BoundSocket?
    private let limits: HTTPLimits
    private let certificate: ServerCertificate?
    private let responder: any HTTPResponder
    private let clients: ClientIdentification
    private let counts: HTTPServerCounts
    private let logger: Logger
    private let onRunning: @Sendable (Int) async -> Void

    /// - Parameters:
    ///   - host: A name or an address; of a name, the first address is used.
    ///   - port: 0 lets the system choose a free one.
    ///   - socket: A socket that is already bound to this address.
    ///   - certificate: With a certificate only TLS is served; the caller runs the certificate's `run()`.
    ///   - clients: How clients are identified; each has a share.
    ///   - counts: The counts that its connections share, with the same limits; new ones by default.
    ///   - onRunning: Called with the port once connections are accepted.
    package init(
        host: String,
        port: Int,
        socket: BoundSocket? = nil,
        limits: HTTPLimits = HTTPLimits(),
        certificate: ServerCertificate? = nil,
        responder: any HTTPResponder,
        clients: ClientIdentification = ClientIdentification(),
        counts: HTTPServerCounts? = nil,
        logger: Logger,
        onRunning: @escaping @Sendable (Int) async -> Void = { _ in }
    ) {
        self.host = host
        self.port = port
        self.socket = socket
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
        // Separate loops would have to outlive every cancelled request that has not
        // ended; the process's loops live as long as the process.
        let group = MultiThreadedEventLoopGroup.singleton
        let channel = ServerChannel(
            group: group,
            limits: limits,
            certificate: certificate,
            clients: clients,
            counts: counts,
            responder: responder
        )
        let connections = AcceptedConnections()
        Opening.instantiateDecoder()
        let listener: any Channel
        do {
            listener = try await listen(on: group, channel, connections)
        } catch let error as IOError {
            throw ListenError(code: error.errnoCode)
        }
        listener.closeFuture.whenComplete { _ in connections.listenerClosed() }
        await withTaskCancellationHandler {
            await withGracefulShutdownHandler {
                await onRunning(listener.localAddress?.port ?? port)
                await connections.ended()
            } onGracefulShutdown: {
                // First, so that a client whose connection is refused can rely on the accepted ones being drained.
                connections.drain()
                listener.close(promise: nil)
            }
        } onCancel: {
            listener.close(promise: nil)
            connections.abort()
        }
    }

    private func listen(
        on group: MultiThreadedEventLoopGroup,
        _ channel: ServerChannel,
        _ connections: AcceptedConnections
    ) async throws -> any Channel {
        let socket = try socket ?? BoundSocket(host: host, port: port)
        guard let descriptor = socket.take() else { throw ListenError(code: EADDRINUSE) }
        let bootstrap = ServerBootstrap(group: group)
            .serverChannelInitializer { listener in
                listener.eventLoop.makeCompletedFuture {
                    try listener.pipeline.syncOperations.addHandlers(
                        // When file descriptors run out, for example, accepting resumes a second later.
                        AcceptBackoffHandler(shouldForwardIOErrorCaught: false),
                        AcceptedConnectionsHandler(connections)
                    )
                }
            }
            // A client may close its side and wait for its responses.
            .childChannelOption(.allowRemoteHalfClosure, value: true)
            .childChannelOption(.recvAllocator, value: ReadBuffers())
            .childChannelOption(.maxMessagesPerRead, value: 1)
            .childChannelInitializer { channel.setUp($0) }
        let listener = try await bootstrap.withBoundSocket(descriptor).get()
        // SwiftNIO listened with its own backlog.
        guard Glibc.listen(descriptor, 1024) == 0 else { throw ListenError(code: errno) }
        logger.info("Accepting connections", metadata: ["address": "\(listener.localAddress, default: "?")"])
        return listener
    }
}

/// Why a server cannot listen at its address.
package struct ListenError: Error, CustomStringConvertible {
    /// The `errno` of the system call that failed, such as `EADDRINUSE`.
    package let code: CInt

    package var description: String { String(cString: strerror(code)) }
}
