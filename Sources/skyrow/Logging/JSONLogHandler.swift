import Glibc
import Logging
import SkyrowHTTP
import SkyrowModel
import SkyrowWire

/// Writes an event as one line of JSON.
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
        let writer = JSONWriter()
        writer.beginObject()
        writer.key("time")
        writer.timestamp(.now)
        writer.key("level")
        writer.string(event.level.rawValue)
        writer.key("message")
        writer.string(event.message.description)
        for (name, value) in members(of: event).sorted(by: { $0.key < $1.key }) {
            writer.key(name)
            writer.string("\(value)")
        }
        writer.endObject()
        writer.withUnsafeBytes { output.append($0, isUrgent: event.level >= .warning) }
    }

    /// What is nearest to the event wins, as in swift-log's own handlers; the names above are taken.
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
    /// A line as the handler above would write it, its members in the same order.
    func write(_ line: RequestLogLine) {
        let writer = JSONWriter(capacity: 512)
        writer.beginObject()
        writer.key("time")
        writer.timestamp(.now)
        writer.key("level")
        writer.string(line.level.rawValue)
        writer.key("message")
        writer.string("Request" as StaticString)
        writer.key("action")
        writer.string(line.action)
        if let calls = line.calls {
            writer.key("calls")
            writer.string("\(calls)")
        }
        if let client = line.client {
            writer.key("client")
            writer.string(client.description)
        }
        if let code = line.errorCode {
            writer.key("error_code")
            writer.string("\(code)")
        }
        if let method = line.method {
            writer.key("method")
            writer.string(method)
        }
        if let microseconds = line.microseconds {
            writer.key("microseconds")
            writer.string("\(microseconds)")
        }
        writer.key("outcome")
        writer.string(line.outcome)
        writer.key("request_id")
        writer.string(line.requestID.description)
        writer.key("status")
        writer.string("\(line.status)")
        if let trace = line.traceID {
            writer.key("trace_id")
            writer.string(trace.description)
        }
        if let user = line.userID {
            writer.key("user_id")
            writer.string(user)
        }
        writer.endObject()
        writer.withUnsafeBytes { append($0, isUrgent: line.level >= .warning) }
    }
}

extension Timestamp {
    /// The computer's clock.
    fileprivate static var now: Timestamp {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        let microseconds = Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1000
        return Timestamp(microseconds: microseconds - unixEpochOffset)
    }
}
