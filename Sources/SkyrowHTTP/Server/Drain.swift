import ServiceLifecycle
import SkyrowSystem
import Synchronization

/// The period between the decision to shut down and the shutdown. The service still responds but reports that it is not ready, so
/// that a proxy sends new requests elsewhere.
///
/// It must be the last service of a service group, where a shutdown begins. Every response during the period ends its connection.
package final class Drain: Service {
    private let time: Duration
    private let isOn = Atomic(false)

    private let end: @Sendable () -> Void

    /// - Parameters:
    ///   - time: How long the proxy needs to notice; zero shuts down at once.
    ///   - end: Called after that, to end requests that wait for an event.
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
