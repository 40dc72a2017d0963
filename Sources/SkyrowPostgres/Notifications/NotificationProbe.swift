internal import Logging
internal import SkyrowConcurrency
internal import SkyrowSystem
internal import Synchronization

/// Sends notifications to its own client now and then, to find out whether they arrive.
///
/// Behind a pooler that hands each transaction another session, LISTEN succeeds and nothing is ever heard. What is
/// sent goes by a read connection, because a session always hears itself.
final class NotificationProbe: Sendable {
    private let configuration: PostgresConfiguration
    private let listener: NotificationListener
    private let logger: Logger
    /// Known to this client alone.
    private let channel = SQLIdentifier(slotOf: "skyrow_probe", .random(in: .min ... .max))
    private let health = Mutex(NotificationHealth())
    private let hasBegun = Deferred<Void>()

    init(configuration: PostgresConfiguration, listener: NotificationListener, logger: Logger) {
        self.configuration = configuration
        self.listener = listener
        self.logger = logger
    }

    var verdict: NotificationHealth.Verdict { health.withLock(\.verdict) }

    /// Has the probe begin, as there is a listener.
    func begin() {
        hasBegun.settle()
    }

    /// Probes until the task is cancelled, from ``begin()`` on.
    ///
    /// - Parameter send: runs a statement on another connection than the listener's.
    func run(send: (SQL) async throws -> Void) async {
        await hasBegun.value(ifCancelled: ())
        let notifications = listener.subscribe(to: channel)
        let subscriber = notifications.subscriber
        // The first event says that the channel is listened to.
        guard await subscriber.next() != nil else { return }
        var number = 0
        while !Task.isCancelled {
            number += 1
            let payload = String(number)
            // A failure to send says nothing about what arrives.
            if (try? await send("SELECT pg_notify(\(channel.name), \(payload))")) != nil {
                let hasArrived = await arrives(payload, to: subscriber)
                if Task.isCancelled { return }
                act(on: health.withLock { $0.probed(hasArrived: hasArrived) })
            }
            guard !health.withLock(\.isInDoubt) else { continue }
            try? await ServiceTimer.sleep(for: configuration.notificationProbeInterval)
        }
    }

    private func arrives(_ payload: String, to subscriber: NotificationSubscriber) async -> Bool {
        let limit = configuration.notificationProbeTimeout
        return await withTaskGroup(of: Bool.self) { group in
            group.addTask {
                while let event = await subscriber.next() {
                    if case .notification(_, payload, _) = event { return true }
                }
                return false
            }
            group.addTask {
                try? await ServiceTimer.sleep(for: limit)
                return false
            }
            defer { group.cancelAll() }
            return await group.next() ?? false
        }
    }

    private func act(on step: NotificationHealth.Step) {
        switch step {
        case .none:
            break
        case .reconnect:
            listener.reconnect()
        case .fallSilent:
            logger.warning(
                """
                Notifications of PostgreSQL do not arrive, as behind a pooler that hands each transaction another \
                session: give listen-database-url the address of PostgreSQL itself. Until then changes of the schema \
                by others are found by looking for them.
                """
            )
            listener.deliverToAll(.silent)
        case .arriveAgain:
            logger.notice("Notifications of PostgreSQL arrive again")
            listener.deliverToAll(.reconnected)
        }
    }
}
