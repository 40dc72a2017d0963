import NIOCore
import Synchronization

/// The connections that a listener has accepted and that are open, so that its server ends after the last of them.
///
/// They are added on the listener's event loop and removed on their own, hence the lock.
final class AcceptedConnections: Sendable {
    private struct State {
        var open: [ObjectIdentifier: any Channel] = [:]
        var isListening = true
        var isAborted = false
        var end: CheckedContinuation<Void, Never>?

        var isOver: Bool { !isListening && open.isEmpty }

        /// What waits for the end, once it has come.
        mutating func takeEnd() -> CheckedContinuation<Void, Never>? {
            guard isOver else { return nil }
            defer { end = nil }
            return end
        }
    }

    private let state = Mutex(State())

    func add(_ channel: any Channel) {
        let isAborted = state.withLock { state in
            state.open[ObjectIdentifier(channel)] = channel
            return state.isAborted
        }
        channel.closeFuture.whenComplete { _ in self.remove(channel) }
        if isAborted { channel.close(promise: nil) }
    }

    private func remove(_ channel: any Channel) {
        let end = state.withLock { state in
            state.open[ObjectIdentifier(channel)] = nil
            return state.takeEnd()
        }
        end?.resume()
    }

    /// To be called when the listener is closed: no connection is added from here on, and each that is open closes when
    /// it has answered what it accepted.
    func drain() {
        let (open, end) = state.withLock { state in
            state.isListening = false
            return (Array(state.open.values), state.takeEnd())
        }
        for channel in open {
            // On its loop after what adds its handlers, if it was accepted just now.
            channel.eventLoop.execute {
                channel.pipeline.fireUserInboundEventTriggered(ChannelShouldQuiesceEvent())
            }
        }
        end?.resume()
    }

    /// Closes all at once, and what a listener that is being closed still adds.
    func abort() {
        let open = state.withLock { state in
            state.isAborted = true
            return Array(state.open.values)
        }
        for channel in open { channel.close(promise: nil) }
    }

    /// Returns when the listener and all its connections are closed. To be called once.
    func ended() async {
        await withCheckedContinuation { continuation in
            let isOver = state.withLock { state in
                if !state.isOver { state.end = continuation }
                return state.isOver
            }
            if isOver { continuation.resume() }
        }
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
        connections.add(unwrapInboundIn(data))
        context.fireChannelRead(data)
    }
}
