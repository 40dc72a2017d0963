import NIOCore
import SkyrowConcurrency
import Synchronization

/// The open connections of a listener, so that its server can wait for the last of them.
///
/// Connections are added on the listener's event loop and removed on their own, so the state is locked.
final class AcceptedConnections: Sendable {
    private struct State {
        var open: [ObjectIdentifier: any Channel] = [:]
        var isListening = true
        var isDraining = false
        var isAborted = false

        var isOver: Bool { !isListening && open.isEmpty }
    }

    private let state = Mutex(State())
    private let end = Deferred<Void>()

    /// Adds a connection; to be called after its initializer was submitted to the connection's event loop.
    func add(_ channel: any Channel) {
        let (isDraining, isAborted) = state.withLock { state in
            state.open[ObjectIdentifier(channel)] = channel
            return (state.isDraining, state.isAborted)
        }
        channel.closeFuture.whenComplete { _ in self.remove(channel) }
        if isAborted {
            channel.close(promise: nil)
        } else if isDraining {
            Self.drain(channel)
        }
    }

    private func remove(_ channel: any Channel) {
        let isOver = state.withLock { state in
            state.open[ObjectIdentifier(channel)] = nil
            return state.isOver
        }
        if isOver { end.settle() }
    }

    /// Makes every connection, also those added later, close after the responses to its accepted requests.
    func drain() {
        let open = state.withLock { state in
            guard !state.isDraining else { return [any Channel]() }
            state.isDraining = true
            return Array(state.open.values)
        }
        for channel in open { Self.drain(channel) }
    }

    private static func drain(_ channel: any Channel) {
        // For a connection accepted just now, this runs on its loop after the handlers are added.
        channel.eventLoop.execute {
            channel.pipeline.fireUserInboundEventTriggered(ChannelShouldQuiesceEvent())
        }
    }

    /// Notes that the listener is closed: no more connections are added, and the open ones drain.
    func listenerClosed() {
        drain()
        let isOver = state.withLock { state in
            state.isListening = false
            return state.isOver
        }
        if isOver { end.settle() }
    }

    /// Closes all connections at once, and those that a closing listener still adds.
    func abort() {
        let open = state.withLock { state in
            state.isAborted = true
            return Array(state.open.values)
        }
        for channel in open { channel.close(promise: nil) }
    }

    /// Whether the listener and all its connections are closed.
    var isOver: Bool { state.withLock { $0.isOver } }

    /// Returns when the listener and all its connections are closed.
    func ended() async {
        await end.value()
    }
}

/// Adds each connection that its listener accepts.
final class AcceptedConnectionsHandler: ChannelInboundHandler {
    typealias InboundIn = any Channel

    private let connections: AcceptedConnections

    init(_ connections: AcceptedConnections) {
        self.connections = connections
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let channel = unwrapInboundIn(data)
        // The next handler submits the initializer to the connection's loop.
        context.fireChannelRead(data)
        connections.add(channel)
    }
}
