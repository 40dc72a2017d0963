/// Whether notifications arrive, judged by those that a client sends to itself.
struct NotificationHealth: Equatable {
    enum Verdict: Equatable {
        case unknown
        case arriving
        case silent
    }

    /// What follows from one more notification that arrived, or did not.
    enum Step: Equatable {
        case none
        /// They arrived until now: the connection may be dead without a sign of it.
        case reconnect
        case fallSilent
        case arriveAgain
    }

    /// One may be late on a busy machine, or meet a connection that is just being opened.
    static let missesUntilSilent = 2

    private(set) var verdict = Verdict.unknown
    private var misses = 0

    /// Whether the next one is sent without a pause.
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
