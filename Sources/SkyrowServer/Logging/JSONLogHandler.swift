import Glibc
import Logging
import SkyrowActions
import SkyrowHTTP
import SkyrowJSON
import SkyrowModel
import SkyrowProtocol

/// Writes log events as lines of JSON.
///
/// ```json
/// {"time":"2026-11-21T10:00:00.000123Z","level":"info","message":"Request","action":"record:fetch","outcome":"OK"}
/// ```
struct JSONLogHandler: LogHandler {
    var metadata: Logger.Metadata = [:]
    var logLevel: Logger.Level = .info
    var metadataProvider: Logger.MetadataProvider?

    private let output: LogOutput

    init(output: LogOutput, metadataProvider: Logger.MetadataProvider? = nil) {
        self.output = output
        self.metadataProvider = metadataProvider
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        output.write(event.level, event.message.description) { writer in
            for (name, value) in members(of: event).sorted(by: { $0.key < $1.key }) {
                writer.key(name)
                writer.value(value)
            }
        }
    }

    /// Returns the members of an event. Metadata closer to the event takes precedence, as in swift-log's handlers; the
    /// reserved names get a trailing underscore.
    private func members(of event: LogEvent) -> Logger.Metadata {
        var members = event.metadata ?? [:]
        if let provided = metadataProvider?.get() { members.merge(provided) { nearest, _ in nearest } }
        if !metadata.isEmpty { members.merge(metadata) { nearest, _ in nearest } }
        if let error = event.error { members["error"] = "\(error)" }
        for taken in ["time", "level", "message"] {
            if let value = members.removeValue(forKey: taken) { members["\(taken)_"] = value }
        }
        return members
    }
}

extension LogOutput: RequestLogOutput {
    /// Writes a request's line with the members and order of the handler above.
    package func write(_ line: RequestLogLine) {
        write(line.level, "Request") { writer in
            writer.member("action", line.action)
            if let application = line.application { writer.member("application", application.rawValue) }
            if let calls = line.calls { writer.member("calls", calls) }
            if let client = line.client { writer.member("client", client.description) }
            if let code = line.errorCode { writer.member("error_code", code) }
            if let method = line.method { writer.member("method", method) }
            if let microseconds = line.microseconds { writer.member("microseconds", microseconds) }
            writer.member("outcome", line.outcome)
            writer.member("request_id", line.requestID.description)
            writer.member("status", Int(line.status))
            if let trace = line.traceID { writer.member("trace_id", trace.description) }
            if let user = line.userID { writer.member("user_id", user.rawValue) }
        }
    }

    fileprivate func write(_ level: Logger.Level, _ message: String, members: (JSONWriter) -> Void) {
        let writer = JSONWriter(capacity: 512)
        writer.beginObject()
        writer.member("time", ServiceClock.system.now())
        writer.member("level", level.rawValue)
        writer.member("message", message)
        members(writer)
        writer.endObject()
        writer.withUnsafeBytes { append($0, isUrgent: level >= .warning) }
    }
}

extension JSONWriter {
    /// Writes a value. Integers stay numbers, so log readers can compute with them; all else is text.
    fileprivate func value(_ value: Logger.MetadataValue) {
        if case .stringConvertible(let number as any BinaryInteger) = value, let integer = Int64(exactly: number) {
            self.integer(integer)
        } else {
            string("\(value)")
        }
    }
}
