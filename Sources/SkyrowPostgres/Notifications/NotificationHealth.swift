/// Whether notifications arrive, judged by probes that a client sends to itself.
struct NotificationHealth: Equatable {
    enum Verdict: Equatable {
        case unknown
        case arriving
        case silent
    }

    /// The consequence of one more probe that arrived or was missed.
    enum Step: Equatable {
        case none
        /// Notifications arrived until now; the connection may be dead without a sign of it.
        case reconnect
        case fallSilent
        case arriveAgain
    }

    /// A single probe may be late on a busy machine, or hit a connection that is just being opened.
    static let missesUntilSilent = 2

    private(set) var verdict = Verdict.unknown
    private var misses = 0

    /// Whether the next probe is sent without a pause.
    var isInDoubt: Bool { misses > 0 && verdict != .silent }

    mutating func probed(hasArrived: Bool) -> Step {
        let before = verdict
        if hasArrived {
            misses = 0
            verdict = .arriving
            return before == .silent ? .arriveAgain : .none
        }
        misses += 1
        if before == .silent { return .none }
        guard misses >= Self.missesUntilSilent else { return before == .arriving ? .reconnect : .none }
        verdict = .silent
        return .fallSilent
    }
}
