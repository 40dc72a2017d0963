internal import Logging
internal import SkyrowConcurrency
internal import SkyrowSystem
internal import Synchronization

/// Periodically sends a notification to its own client, to detect whether notifications arrive.
///
/// Behind a pooler that assigns a session per transaction, LISTEN succeeds but no notification arrives. Probes are sent on a read
/// connection, because a session always receives its own notifications.
final class NotificationProbe: Sendable {
    private let configuration: PostgresConfiguration
    private let listener: NotificationListener
    private let logger: Logger
    /// Random, so that only this client uses it.
    private let channel = SQLIdentifier(slotOf: "skyrow_probe", .random(in: .min ... .max))
    private let health = Mutex(NotificationHealth())
    private let hasBegun = Deferred<Void>()

    init(configuration: PostgresConfiguration, listener: NotificationListener, logger: Logger) {
        self.configuration = configuration
        self.listener = listener
        self.logger = logger
    }

    var verdict: NotificationHealth.Verdict { health.withLock(\.verdict) }

    /// Starts the probe, once there is a listener.
    func begin() {
        hasBegun.settle()
    }

    /// Probes from ``begin()`` until the task is cancelled.
    ///
    /// - Parameter send: Runs a statement on a connection other than the listener's.
    func run(send: (SQL) async throws -> Void) async {
        await hasBegun.value(ifCancelled: ())
        let notifications = listener.subscribe(to: channel)
        let subscriber = notifications.subscriber
        // The first event confirms that the channel is listened to.
        guard await subscriber.next() != nil else { return }
        var number = 0
        while !Task.isCancelled {
            number += 1
            let payload = String(number)
            // A failure to send is no evidence about arrival.
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
                Notifications from PostgreSQL do not arrive, as behind a pooler in transaction mode: set \
                listen-database-url to the address of PostgreSQL itself. Until then schema changes by others are \
                found by polling.
                """
            )
            listener.deliverToAll(.silent)
        case .arriveAgain:
            logger.notice("Notifications from PostgreSQL arrive again")
            listener.deliverToAll(.reconnected)
        }
    }
}
