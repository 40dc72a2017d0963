internal import SkyrowConcurrency
internal import Synchronization

/// Signals that the client has to end.
final class ShutdownSignal: Sendable {
    enum Level: Comparable, Sendable {
        case none
        /// What was accepted is still done.
        case graceful
        /// What runs is cut off.
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

/// What a client that has to end does next: it lets what it accepted be done, then cuts off what still runs, and then
/// leaves the threads that even that does not wake, such as one inside of libpq's call to connect.
struct ShutdownDeadlines {
    enum Step: Equatable {
        case none
        case close
        case leave
    }

    /// How long threads have to end after their connections were cut off.
    static let patience: Duration = .seconds(2)

    private let drain: Duration
    private var closeAt: MonotonicTime?
    private var leaveAt: MonotonicTime?

    init(drain: Duration) {
        self.drain = drain
    }

    /// The step that is due; each comes once.
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
