import CoreMetrics
import Logging
import SkyrowPostgres

/// Logs slow statements with the request that caused them.
///
/// A statement's text depends only on the shape of a request; it contains no values.
struct SlowStatementLog: Sendable {
    let logger: Logger
    let count: Counter

    /// The length in bytes at which a statement's text is truncated.
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
        // The results of a pipeline arrive together, so the time is that of all its statements.
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
    /// The number of whole milliseconds.
    fileprivate var milliseconds: Int64 {
        let (seconds, attoseconds) = components
        return seconds * 1000 + attoseconds / 1_000_000_000_000_000
    }
}
