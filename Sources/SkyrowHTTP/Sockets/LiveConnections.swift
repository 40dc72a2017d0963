import NIOCore
import SkyrowActions
import SkyrowModel
import SkyrowSystem
import Synchronization

/// The long-lived connections across all event loops: their number, in total, per client and per user, and the memory of their
/// unsent messages.
package final class LiveConnections: Sendable {
    /// How live messages are transported.
    package enum Transport: String, Sendable, CaseIterable {
        case webSocket = "websocket"
        case eventStream = "sse"
    }

    private struct Counts {
        var all = 0
        var webSockets = 0
        var clients: [ClientKey: Int] = [:]
        var users: [UserID: Int] = [:]
    }

    let limits: LiveLimits
    let memory: LiveMemory
    private let counts = Mutex(Counts())
    private let laggings = Atomic<Int>(0)
    private let streams = Mutex(Streams())
    /// The event of the last message: a change is sent to many streams one after another.
    private let lastEvent = Mutex<(text: LiveMessage.Text, event: ByteBuffer)?>(nil)

    /// The open event streams, and the task that checks their deadlines while there are any.
    private struct Streams {
        var open: [ObjectIdentifier: EventStream] = [:]
        var ticker: Task<Void, Never>?
    }

    package init(_ limits: LiveLimits = LiveLimits()) {
        self.limits = limits
        memory = LiveMemory(limit: limits.memory)
    }

    /// Counts a connection for the lifetime of its seat; returns nil when it exceeds a limit.
    func seat(_ transport: Transport, of client: ClientKey) -> LiveSeat? {
        let isFree = counts.withLock { counts in
            guard counts.all < limits.connections else { return false }
            if client != .none {
                guard counts.clients[client, default: 0] < limits.connectionsOfClient else { return false }
                counts.clients[client, default: 0] += 1
            }
            counts.all += 1
            if transport == .webSocket { counts.webSockets += 1 }
            return true
        }
        return isFree ? LiveSeat(transport, of: client, in: self) : nil
    }

    /// Returns the encoded event of a message.
    func event(of message: LiveMessage) -> ByteBuffer {
        lastEvent.withLock { last in
            if let last, last.text === message.parameters { return last.event }
            let event = ByteBuffer(event: message)
            last = (message.parameters, event)
            return event
        }
    }

    fileprivate func leave(_ transport: Transport, _ client: ClientKey, _ user: UserID?) {
        counts.withLock { counts in
            counts.all -= 1
            if transport == .webSocket { counts.webSockets -= 1 }
            if client != .none { counts.clients.decrement(client) }
            if let user { counts.users.decrement(user) }
        }
    }

    /// Moves a connection to another user's count; returns false when that user has too many.
    fileprivate func move(from old: UserID?, to new: UserID?) -> Bool {
        counts.withLock { counts in
            if let new {
                guard counts.users[new, default: 0] < limits.connectionsOfUser else { return false }
                counts.users[new, default: 0] += 1
            }
            if let old { counts.users.decrement(old) }
            return true
        }
    }

    /// Checks the deadlines of an event stream until it is forgotten.
    func watch(_ stream: EventStream) {
        streams.withLock { streams in
            streams.open[ObjectIdentifier(stream)] = stream
            if streams.ticker == nil { streams.ticker = Task { await self.tick() } }
        }
    }

    func forget(_ stream: EventStream) {
        streams.withLock { streams in
            streams.open[ObjectIdentifier(stream)] = nil
            guard streams.open.isEmpty else { return }
            streams.ticker?.cancel()
            streams.ticker = nil
        }
    }

    private func tick() async {
        let pause = min(limits.heartbeat.nanoseconds / 4, 1_000_000_000)
        while !Task.isCancelled {
            try? await ServiceTimer.sleep(for: .nanoseconds(pause))
            for stream in streams.withLock({ Array($0.open.values) }) { stream.check(now: .now()) }
        }
    }

    func noteLagging() {
        laggings.add(1, ordering: .relaxed)
    }

    package var statistics: LiveStatistics {
        let (all, webSockets) = counts.withLock { ($0.all, $0.webSockets) }
        return LiveStatistics(
            webSockets: webSockets,
            eventStreams: all - webSockets,
            bufferBytes: memory.bytes,
            laggings: laggings.load(ordering: .relaxed)
        )
    }
}

/// A snapshot of the long-lived connections.
package struct LiveStatistics: Hashable, Sendable {
    package let webSockets: Int
    package let eventStreams: Int
    /// Bytes of live messages that wait for their clients.
    package let bufferBytes: Int
    /// How often a connection fell behind.
    package let laggings: Int
}

/// A slot that one connection occupies in the counts of the process, of the client and of the user. Freed on deinit.
final class LiveSeat: Sendable {
    private let transport: LiveConnections.Transport
    private let client: ClientKey
    private let user = Mutex<UserID?>(nil)
    private let connections: LiveConnections

    fileprivate init(_ transport: LiveConnections.Transport, of client: ClientKey, in connections: LiveConnections) {
        self.transport = transport
        self.client = client
        self.connections = connections
    }

    deinit {
        connections.leave(transport, client, user.withLock { $0 })
    }

    /// Counts the connection as this user's; returns false when the user has too many.
    func take(_ new: UserID?) -> Bool {
        user.withLock { user in
            guard user != new else { return true }
            guard connections.move(from: user, to: new) else { return false }
            user = new
            return true
        }
    }
}

extension Dictionary where Value == Int {
    fileprivate mutating func decrement(_ key: Key) {
        let count = self[key] ?? 0
        self[key] = count > 1 ? count - 1 : nil
    }
}
