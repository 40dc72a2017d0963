import NIOCore
import SkyrowConcurrency
import Synchronization

/// The connections that a listener has accepted and that are open, so that its server ends after the last of them.
///
/// They are added on the listener's event loop and removed on their own, hence the lock.
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

    /// To be called when what adds the connection's handlers is on its way to the connection's event loop.
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

    /// Each connection, also one that is added later, closes when it has answered what it accepted.
    func drain() {
        let open = state.withLock { state in
            guard !state.isDraining else { return [any Channel]() }
            state.isDraining = true
            return Array(state.open.values)
        }
        for channel in open { Self.drain(channel) }
    }

    private static func drain(_ channel: any Channel) {
        // On its loop after what adds its handlers, if it was accepted just now.
        channel.eventLoop.execute {
            channel.pipeline.fireUserInboundEventTriggered(ChannelShouldQuiesceEvent())
        }
    }

    /// To be called when the listener is closed: no connection is added from here on, and those that are open drain.
    func listenerClosed() {
        drain()
        let isOver = state.withLock { state in
            state.isListening = false
            return state.isOver
        }
        if isOver { end.settle() }
    }

    /// Closes all at once, and what a listener that is being closed still adds.
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
        // The next handler has the connection's handlers added on its loop.
        context.fireChannelRead(data)
        connections.add(channel)
    }
}
