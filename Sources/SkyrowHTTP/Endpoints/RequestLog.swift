package import Logging
import NIOCore
import NIOHTTP1
package import SkyrowModel

/// The request that the current task works for.
package enum RequestTrace {
    @TaskLocal package static var current: RequestContext?

    /// Puts `request_id`, `action` and `trace_id` on whatever is logged while a request is worked on, by any part of the
    /// service.
    ///
    /// ```swift
    /// LoggingSystem.bootstrap(StreamLogHandler.standardError, metadataProvider: RequestTrace.metadataProvider)
    /// ```
    package static let metadataProvider = Logger.MetadataProvider {
        current?.metadata ?? [:]
    }
}

/// What the log says of one request.
package struct RequestLogLine: Sendable {
    package let level: Logger.Level
    /// The action's name, or what else was asked.
    package let action: String
    /// Whose the request was; nil for the default one.
    package var application: ApplicationName?
    /// How many calls a JSON-RPC batch had.
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

    /// The line as a logger takes it.
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

/// Takes the lines about requests in place of the logger.
///
/// There is one line a request, and making it a dictionary of texts for a log handler to sort, and to take apart again,
/// cost a fetch 6 % of its processor time.
package protocol RequestLogOutput: Sendable {
    func write(_ line: RequestLogLine)
}

/// Writes one line a request: which action, how it ended, how long it took, whose it was, its id.
///
/// Bodies, tokens, keys and paths are not at hand here, so they cannot be logged by mistake.
struct RequestLog: Sendable {
    let logger: Logger
    let output: (any RequestLogOutput)?

    /// Failures of the service's own are errors. Successful health checks and scrapes come every second and are for
    /// debugging; all else, what clients got wrong included, is information.
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
        case .action, .batch, .discover, .home, .preflight, .page, .webSocket, .eventStream, .unknown, .http:
            return .info
        }
    }

    /// A method of the client's own making is not repeated.
    static func name(_ method: HTTPMethod) -> String {
        switch method {
        case .GET, .HEAD, .POST, .PUT, .DELETE, .OPTIONS, .PATCH, .webSocketMessage: method.rawValue
        default: "other"
        }
    }
}

extension HTTPMethod {
    /// What stands in place of a method where a message came over a WebSocket.
    static let webSocketMessage = HTTPMethod.RAW(value: "WebSocket")
}
