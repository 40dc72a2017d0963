import CoreMetrics
import Logging
import SkyrowPostgres

/// Logs statements that ran too long, on behalf of the request that caused them.
///
/// The text of a statement depends on the shape of a request only; values are not part of it.
struct SlowStatementLog: Sendable {
    let logger: Logger
    let count: Counter

    /// The bytes after which a statement's text is cut.
    private static let textLimit = 8192

    init(logger: Logger, metrics: any MetricsFactory) {
        self.logger = logger
        count = Counter(label: "skyrow_postgres_slow_statements_total", factory: metrics)
    }

    func record(_ report: StatementReport) {
        count.increment()
        var metadata: Logger.Metadata = [
            "statement": .string(SlowStatementLog.shortened(report.text)),
            "queue": .string(report.queue),
            "run_milliseconds": .stringConvertible(report.run.milliseconds),
            "wait_milliseconds": .stringConvertible(report.wait.milliseconds),
        ]
        // The answers of a pipeline come together: its time is that of all who travelled in it.
        if report.pipelined > 1 { metadata["pipelined"] = .stringConvertible(report.pipelined) }
        if let failure = report.failure { metadata["error"] = .string(failure) }
        logger.notice("A statement was slow", metadata: metadata)
    }

    static func shortened(_ text: String) -> String {
        guard text.utf8.count > textLimit else { return text }
        return String(decoding: text.utf8.prefix(textLimit), as: UTF8.self) + "…"
    }
}

extension Duration {
    /// Whole milliseconds.
    fileprivate var milliseconds: Int64 {
        let (seconds, attoseconds) = components
        return seconds * 1000 + attoseconds / 1_000_000_000_000_000
    }
}
