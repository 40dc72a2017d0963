/// What a log or a trace says of one statement that ended.
package struct StatementReport: Sendable {
    /// The statement as PostgreSQL got it, without the values.
    package let text: String
    /// Which queue it went through: `read`, `write`, `group_commit` or `transaction`.
    package let queue: String
    /// How long it waited for a connection to take it.
    package let wait: Duration
    /// How long it took from there: a read to the arrival of its result, a write to the end of its commit.
    ///
    /// PostgreSQL sends the results of a pipeline together, so this is the time of the whole pipeline when there were
    /// others in it.
    package let run: Duration
    /// How many statements travelled in its pipeline, itself included.
    package let pipelined: Int
    /// The SQLSTATE of its failure, or else its kind.
    package let failure: String?
}

/// Where statements are reported, and which.
package struct StatementReporting: Sendable {
    /// Only statements that ran at least as many nanoseconds are reported.
    private let threshold: Int64
    /// Called in the task that waited for the statement, before it gets the result.
    private let report: @Sendable (StatementReport) -> Void

    /// - Parameter threshold: only statements that ran at least as long are reported.
    package init(threshold: Duration = .zero, report: @escaping @Sendable (StatementReport) -> Void) {
        self.threshold = threshold.nanoseconds
        self.report = report
    }
}

/// When a connection took a statement and when its result was there.
struct StatementTiming: Sendable {
    var takenAt: MonotonicTime
    var completedAt: MonotonicTime
    var pipelined = 1

    var run: Int64 { completedAt.nanoseconds - takenAt.nanoseconds }
}

extension StatementReporting {
    /// Reports a statement if it ran long enough; one that never ran has no timing.
    func note(
        _ text: @autoclosure () -> String,
        queue: ConnectionRole,
        queuedAt: MonotonicTime,
        timing: StatementTiming?,
        failure: (any Error)?
    ) {
        guard let timing, timing.run >= threshold else { return }
        report(
            StatementReport(
                text: text(),
                queue: queue.rawValue,
                wait: .nanoseconds(max(0, timing.takenAt.nanoseconds - queuedAt.nanoseconds)),
                run: .nanoseconds(timing.run),
                pipelined: timing.pipelined,
                failure: failure.map { error in
                    guard let error = error as? PostgresError else { return "cancelled" }
                    return error.sqlState?.rawValue ?? error.code.rawValue
                }
            )
        )
    }
}
