/// The report on one completed statement, for a log or a trace.
package struct StatementReport: Sendable {
    /// The statement as PostgreSQL received it, without the values.
    package let text: String
    /// The queue of the statement: `read`, `write`, `group_commit` or `transaction`.
    package let queue: String
    /// How long it waited for a connection.
    package let wait: Duration
    /// How long it took from then on: a read until its result arrived, a write until its commit.
    ///
    /// PostgreSQL sends the results of a pipeline together, so with several statements this is the time of the whole pipeline.
    package let run: Duration
    /// The number of statements in its pipeline, including this one.
    package let pipelined: Int
    /// The SQLSTATE of its failure, or else the error code.
    package let failure: String?
}

/// Which statements are reported, and where.
package struct StatementReporting: Sendable {
    /// The minimum run time, in nanoseconds, of reported statements.
    private let threshold: Int64
    /// Called in the task that waits for the statement, before it gets the result.
    private let report: @Sendable (StatementReport) -> Void

    /// - Parameter threshold: The minimum run time of reported statements.
    package init(threshold: Duration = .zero, report: @escaping @Sendable (StatementReport) -> Void) {
        self.threshold = threshold.nanoseconds
        self.report = report
    }
}

/// When a connection took a statement, and when its result had arrived.
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
