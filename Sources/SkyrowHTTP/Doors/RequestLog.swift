package import Logging
import NIOCore
import NIOHTTP1
import SkyrowModel

/// The id of the request that the current task works for.
package enum RequestTrace {
    @TaskLocal package static var id: RequestID?

    /// Puts `request_id` on whatever is logged while a request is worked on, by any part of the service.
    ///
    /// ```swift
    /// LoggingSystem.bootstrap(StreamLogHandler.standardError, metadataProvider: RequestTrace.metadataProvider)
    /// ```
    package static let metadataProvider = Logger.MetadataProvider {
        id.map { ["request_id": .string($0.description)] } ?? [:]
    }
}

/// Writes one line a request: which action, how it ended, how long it took, whose it was, its id.
///
/// Bodies, tokens, keys and paths are not at hand here, so they cannot be logged by mistake.
struct RequestLog: Sendable {
    let logger: Logger

    /// Failures of the service's own are errors; all else, what clients got wrong included, is information.
    func record(_ reply: Reply, method: HTTPMethod?, id: RequestID, client: Client, since arrival: NIODeadline?) {
        let level: Logger.Level = reply.error?.isServerFault == true ? .error : .info
        guard logger.logLevel <= level else { return }
        var metadata: Logger.Metadata = [
            "action": .string(reply.action),
            "outcome": .string(reply.error?.name ?? "OK"),
            "status": .stringConvertible(reply.response.status.code),
            "request_id": .string(id.description),
        ]
        if let address = client.address { metadata["client"] = .stringConvertible(address) }
        if let method { metadata["method"] = .string(RequestLog.name(method)) }
        if let calls = reply.calls { metadata["calls"] = .stringConvertible(calls) }
        if let arrival {
            metadata["microseconds"] = .stringConvertible((NIODeadline.now() - arrival).nanoseconds / 1000)
        }
        logger.log(level: level, "Request", metadata: metadata)
    }

    /// A method of the client's own making is not repeated.
    private static func name(_ method: HTTPMethod) -> String {
        switch method {
        case .GET, .HEAD, .POST, .PUT, .DELETE, .OPTIONS, .PATCH: method.rawValue
        default: "other"
        }
    }
}
