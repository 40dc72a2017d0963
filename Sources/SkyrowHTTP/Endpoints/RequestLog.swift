package import Logging
import NIOCore
import NIOHTTP1
import SkyrowActions
package import SkyrowModel
package import SkyrowProtocol

/// The request of the current task.
package enum RequestTrace {
    @TaskLocal package static var current: RequestContext?

    /// Adds `request_id`, `action` and `trace_id` to everything that is logged during a request, by any part of the service.
    ///
    /// ```swift
    /// LoggingSystem.bootstrap(StreamLogHandler.standardError, metadataProvider: RequestTrace.metadataProvider)
    /// ```
    package static let metadataProvider = Logger.MetadataProvider {
        current?.metadata ?? [:]
    }
}

/// The log line of one request.
package struct RequestLogLine: Sendable {
    package let level: Logger.Level
    /// The name of the action, or of another request subject.
    package let action: String
    /// The application of the request; nil for the default one.
    package var application: ApplicationName?
    /// The number of calls in a JSON-RPC batch.
    package let calls: Int?
    package let client: ClientAddress?
    package let errorCode: Int?
    package let method: String?
    /// From the last byte of the request to the response.
    package let microseconds: Int64?
    /// `OK` or the name of the error.
    package let outcome: String
    package let requestID: RequestID
    package let status: UInt
    package let traceID: TraceID?
    package let userID: UserID?

    /// The line as metadata for a logger.
    package var metadata: Logger.Metadata {
        var metadata: Logger.Metadata = [
            "action": .string(action),
            "outcome": .string(outcome),
            "request_id": .string(requestID.description),
            "status": .stringConvertible(status),
        ]
        if let application { metadata["application"] = .string(application.rawValue) }
        if let calls { metadata["calls"] = .stringConvertible(calls) }
        if let client { metadata["client"] = .stringConvertible(client) }
        if let errorCode { metadata["error_code"] = .stringConvertible(errorCode) }
        if let method { metadata["method"] = .string(method) }
        if let microseconds { metadata["microseconds"] = .stringConvertible(microseconds) }
        if let traceID { metadata["trace_id"] = .stringConvertible(traceID) }
        if let userID { metadata["user_id"] = .string(userID.rawValue) }
        return metadata
    }
}

/// Receives the lines about requests instead of the logger.
///
/// Every request has a line. Making it a dictionary of texts, which a log handler sorts and takes apart again, cost a fetch 6 %
/// of its processor time.
package protocol RequestLogOutput: Sendable {
    func write(_ line: RequestLogLine)
}

/// Writes one line per request: its action, outcome, duration, user and id.
///
/// Bodies, tokens, keys and paths are not available here, so they cannot be logged by mistake.
struct RequestLog: Sendable {
    let logger: Logger
    let output: (any RequestLogOutput)?

    /// Logs a request. Faults of the service are errors. Successful health checks and scrapes, which come every second, are debug
    /// messages. All others, including client errors, are informational.
    func record(_ outcome: RequestOutcome, method: HTTPMethod?, id: RequestID, client: Client, time: TimeAmount?) {
        let level = RequestLog.level(of: outcome)
        guard logger.logLevel <= level else { return }
        let line = RequestLogLine(
            level: level,
            action: outcome.action,
            application: outcome.application == .default ? nil : outcome.application,
            calls: outcome.calls,
            client: client.address,
            errorCode: outcome.error?.rawValue,
            method: method.map(RequestLog.name),
            microseconds: time.map { $0.nanoseconds / 1000 },
            outcome: outcome.error?.name ?? "OK",
            requestID: id,
            status: outcome.response.status.code,
            traceID: outcome.traceID,
            userID: outcome.userID
        )
        if let output {
            output.write(line)
        } else {
            logger.log(level: level, "Request", metadata: line.metadata)
        }
    }

    static func level(of outcome: RequestOutcome) -> Logger.Level {
        if outcome.error?.isServerFault == true { return .error }
        switch outcome.subject {
        case .health, .metrics: return outcome.response.status == .ok ? .debug : .info
        case .action, .batch, .discover, .home, .preflight, .page, .upload, .download, .webSocket, .eventStream,
            .unknown, .http:
            return .info
        }
    }

    /// Unknown methods are not logged verbatim, since clients choose them.
    static func name(_ method: HTTPMethod) -> String {
        switch method {
        case .GET, .HEAD, .POST, .PUT, .DELETE, .OPTIONS, .PATCH, .webSocketMessage: method.rawValue
        default: "other"
        }
    }
}

extension HTTPMethod {
    /// Logged in place of a method for a message of a WebSocket.
    static let webSocketMessage = HTTPMethod.RAW(value: "WebSocket")
}
