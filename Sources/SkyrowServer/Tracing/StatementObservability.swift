import SkyrowHTTP
import SkyrowModel
import SkyrowPostgres
import Tracing

/// Statement reports: log lines for slow statements, spans for all.
enum StatementObservability {
    /// Returns the reporting for PostgreSQL's client; nil if neither log nor traces need it.
    static func reporting(slow: SlowStatementLog?, threshold: Duration, tracer: (any Tracer)?) -> StatementReporting? {
        guard let tracer else {
            guard let slow else { return nil }
            return StatementReporting(threshold: threshold) { slow.record($0) }
        }
        return StatementReporting { report in
            if let slow, report.run >= threshold { slow.record(report) }
            makeSpan(report, with: tracer)
        }
    }

    /// Makes a span after the fact, in the request's trace. Statements outside of requests have none.
    private static func makeSpan(_ report: StatementReport, with tracer: some Tracer) {
        guard let context = ServiceContext.current else { return }
        let end = DefaultTracerClock.now.nanosecondsSinceEpoch
        let (seconds, attoseconds) = (report.wait + report.run).components
        let took = UInt64(clamping: seconds * 1_000_000_000 + attoseconds / 1_000_000_000)
        let start = DefaultTracerClock.Timestamp(nanosecondsSinceEpoch: end - min(end, took))
        let span = tracer.startSpan(operation(report.text), context: context, ofKind: .client, at: start)
        if span.isRecording {
            span.updateAttributes { attributes in
                attributes["db.system.name"] = "postgresql"
                attributes["db.query.text"] = SlowStatementLog.shortened(report.text)
                attributes["skyrow.queue"] = report.queue
                attributes["skyrow.wait_microseconds"] = report.wait.microseconds
                attributes["skyrow.pipelined"] = report.pipelined
                if let action = RequestTrace.current?.action { attributes["skyrow.action"] = action.rawValue }
                if let failure = report.failure { attributes["error.type"] = failure }
            }
            if report.failure != nil { span.setStatus(SpanStatus(code: .error)) }
        }
        span.end(at: DefaultTracerClock.Timestamp(nanosecondsSinceEpoch: end))
    }

    /// Returns the first word of a statement: `SELECT`, `INSERT`.
    private static func operation(_ text: String) -> String {
        let word = text.prefix { $0.isASCII && $0.isLetter }
        return word.isEmpty ? "statement" : String(word)
    }
}

extension Duration {
    fileprivate var microseconds: Int {
        let (seconds, attoseconds) = components
        return Int(clamping: seconds * 1_000_000 + attoseconds / 1_000_000_000_000)
    }
}
