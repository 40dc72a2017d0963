internal import SkyrowConcurrency
internal import Synchronization

/// Signals that the client must shut down.
final class ShutdownSignal: Sendable {
    enum Level: Comparable, Sendable {
        case none
        /// Accepted statements still run.
        case graceful
        /// Running statements are aborted.
        case atOnce
    }

    private let state = Mutex(Level.none)
    private let raised = Deferred<Void>()

    var level: Level { state.withLock { $0 } }

    func raise(atOnce: Bool = false) {
        state.withLock { $0 = max($0, atOnce ? .atOnce : .graceful) }
        raised.settle()
    }

    func wait() async {
        await raised.value()
    }
}

/// The steps of a shutdown: let accepted statements finish, then abort the running ones, then abandon threads that even this does
/// not wake, such as one blocked inside libpq's connect call.
struct ShutdownDeadlines {
    enum Step: Equatable {
        case none
        case close
        case leave
    }

    /// How long threads have to end after their connections were aborted.
    static let patience: Duration = .seconds(2)

    private let drain: Duration
    private var closeAt: MonotonicTime?
    private var leaveAt: MonotonicTime?

    init(drain: Duration) {
        self.drain = drain
    }

    /// Returns the step that is due; each step is returned once.
    mutating func step(at now: MonotonicTime, _ level: ShutdownSignal.Level) -> Step {
        switch level {
        case .none: return .none
        case .graceful: closeAt = closeAt ?? now + drain
        case .atOnce: closeAt = min(closeAt ?? now, now)
        }
        if let leaveAt {
            guard leaveAt <= now, leaveAt != .distantFuture else { return .none }
            self.leaveAt = .distantFuture
            return .leave
        }
        guard let closeAt, closeAt <= now else { return .none }
        leaveAt = now + Self.patience
        return .close
    }
}
