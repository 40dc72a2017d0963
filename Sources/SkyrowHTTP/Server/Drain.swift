import ServiceLifecycle
import SkyrowSystem
import Synchronization

/// The time between the decision to shut down and the shutdown, in which a service goes on responding while it says that
/// it is not ready, so that a proxy sends new requests elsewhere.
///
/// It belongs at the end of a service group, whose shutdown begins there. Every response meanwhile ends its connection.
package final class Drain: Service {
    private let time: Duration
    private let isOn = Atomic(false)

    private let end: @Sendable () -> Void

    /// - Parameters:
    ///   - time: how long the proxy takes to notice; zero shuts down at once.
    ///   - end: called after that, for requests that wait for something to respond.
    package init(time: Duration = .zero, end: @escaping @Sendable () -> Void = {}) {
        self.time = time
        self.end = end
    }

    package var hasBegun: Bool { isOn.load(ordering: .relaxed) }

    package func run() async throws {
        try? await gracefulShutdown()
        isOn.store(true, ordering: .relaxed)
        if time > .zero { try? await ServiceTimer.sleep(for: time) }
        end()
    }
}
