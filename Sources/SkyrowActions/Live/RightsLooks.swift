/// The sequence of checks of all sessions' rights, and the last successful one.
struct RightsLooks {
    struct Look {
        fileprivate let number: Int
        fileprivate let begunAt: ContinuousClock.Instant
    }

    /// Upper bound on the age of the rights that events are judged by.
    private static let age: Duration = .seconds(1)

    /// The number of the check that began last.
    private(set) var last = 0
    private var success: Look?

    mutating func begin(at now: ContinuousClock.Instant) -> Look {
        last += 1
        return Look(number: last, begunAt: now)
    }

    mutating func succeed(_ look: Look) {
        success = look
    }

    /// Returns whether the rights of all sessions are known as of the last second.
    func areKnown(at now: ContinuousClock.Instant) -> Bool {
        success.map { now - $0.begunAt <= Self.age } ?? false
    }

    /// Returns whether a check has succeeded that began after a given one.
    func haveSucceeded(since look: Int) -> Bool {
        success.map { $0.number > look } ?? false
    }
}
