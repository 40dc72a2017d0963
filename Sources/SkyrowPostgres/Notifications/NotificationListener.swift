internal import CLibpq
internal import Glibc
internal import Logging
internal import SkyrowSystem
internal import Synchronization

/// The thread and the connection that listen for all subscribers.
final class NotificationListener: Sendable {
    private struct WeakSubscriber: Sendable {
        weak let subscriber: NotificationSubscriber?
    }

    private struct State: Sendable {
        var channels: [SQLIdentifier: [WeakSubscriber]] = [:]
        var isStopped = false
    }

    private let configuration: PostgresConfiguration
    private let logger: Logger
    private let gate = ConnectionGate()
    private let state = Mutex(State())
    /// Wakes the thread when `state` has changed.
    private let waker: WakePipe

    init(configuration: PostgresConfiguration, logger: Logger) {
        var configuration = configuration
        if let own = configuration.listenConnection { configuration.connection = own }
        self.configuration = configuration
        self.logger = logger
        waker = WakePipe(logger: logger)
    }

    func subscribe(to channel: SQLIdentifier) -> PostgresNotifications {
        let subscriber = NotificationSubscriber()
        let isStopped = state.withLock { state in
            state.channels[channel, default: []].append(WeakSubscriber(subscriber: subscriber))
            return state.isStopped
        }
        if isStopped { subscriber.finish() }
        waker.wake()
        return PostgresNotifications(subscriber: subscriber)
    }

    func stop() {
        let subscribers = state.withLock { state in
            state.isStopped = true
            return state.channels.values.joined().compactMap(\.subscriber)
        }
        waker.wake()
        for subscriber in subscribers { subscriber.finish() }
    }

    /// Aborts the connection, so that the thread opens a new one.
    func reconnect() {
        gate.cutOff()
    }

    func deliverToAll(_ event: PostgresNotificationEvent) {
        let subscribers = state.withLock { $0.channels.values.joined().compactMap(\.subscriber) }
        for subscriber in subscribers { subscriber.deliver(event) }
    }

    /// Stops the thread, even while it waits for the server.
    func close() {
        stop()
        gate.abort()
    }

    func enforceTimeLimits(at time: MonotonicTime) {
        gate.abortIfOverdue(at: time)
    }

    /// The thread's work, until ``stop()``.
    func run() {
        var backoff = ReconnectBackoff()
        var random = SystemRandomNumberGenerator()
        while waitForSubscribers() {
            do throws(PostgresError) {
                let connection = try PostgresConnection(configuration: configuration, role: .listen, gate: gate)
                try listen(on: connection) { backoff.reset() }
            } catch {
                if backoff.failures == 0 {
                    logger.warning("Not listening for notifications", metadata: ["error": "\(error)"])
                }
                waker.sleep(until: .now + backoff.next(using: &random))
            }
        }
    }

    /// Listens until the connection is lost; returns when no channel has subscribers.
    private func listen(on connection: PostgresConnection, established: () -> Void) throws(PostgresError) {
        var listening: [SQLIdentifier: [ObjectIdentifier]] = [:]
        while true {
            let wanted = wantedChannels()
            if wanted.isEmpty { return }
            for channel in listening.keys where wanted[channel] == nil {
                try run("UNLISTEN \(channel)", on: connection)
                listening[channel] = nil
            }
            for (channel, subscribers) in wanted {
                if listening[channel] == nil { try run("LISTEN \(channel)", on: connection) }
                let known = listening[channel] ?? []
                listening[channel] = subscribers.map { ObjectIdentifier($0) }
                for subscriber in subscribers where !known.contains(ObjectIdentifier(subscriber)) {
                    subscriber.connect()
                }
            }
            established()
            try deliverNotifications(of: connection)
            try waitForInput(of: connection)
        }
    }

    private func run(_ statement: SQL, on connection: PostgresConnection) throws(PostgresError) {
        gate.begin(self, deadline: .now + configuration.connectTimeout)
        defer { _ = gate.end() }
        _ = try connection.runAlone(statement)
    }

    private func deliverNotifications(of connection: PostgresConnection) throws(PostgresError) {
        while let notification = PQnotifies(connection.handle) {
            defer { PQfreemem(notification) }
            let channel = String(cString: notification.pointee.relname)
            let event = PostgresNotificationEvent.notification(
                channel: channel,
                payload: String(cString: notification.pointee.extra),
                processID: notification.pointee.be_pid
            )
            let subscribers = state.withLock { state in
                state.channels.first { $0.key.name == channel }?.value.compactMap(\.subscriber) ?? []
            }
            for subscriber in subscribers { subscriber.deliver(event) }
        }
    }

    private func waitForInput(of connection: PostgresConnection) throws(PostgresError) {
        guard waker.wait(for: PQsocket(connection.handle), events: POLLIN, until: .distantFuture) else { return }
        #if DEBUG
            // Input that arrived together is delayed together, so that a burst of notifications does not multiply the delay.
            Lateness.holdThread()
        #endif
        guard PQconsumeInput(connection.handle) == 1, PQstatus(connection.handle) == CONNECTION_OK else {
            throw PostgresError(code: .connectionLost, message: connection.lastMessage)
        }
    }

    /// The channels that have subscribers.
    private func wantedChannels() -> [SQLIdentifier: [NotificationSubscriber]] {
        state.withLock { state in
            guard !state.isStopped else { return [:] }
            state.channels = state.channels.compactMapValues { subscribers in
                let alive = subscribers.filter { $0.subscriber != nil }
                return alive.isEmpty ? nil : alive
            }
            return state.channels.mapValues { $0.compactMap(\.subscriber) }
        }
    }

    private func waitForSubscribers() -> Bool {
        while true {
            let (isStopped, isWanted) = state.withLock { ($0.isStopped, !$0.channels.isEmpty) }
            if isStopped { return false }
            if isWanted { return true }
            waker.sleep(until: .distantFuture)
        }
    }
}
