import Logging
import ServiceLifecycle
import SkyrowHTTP
import SkyrowSystem

/// Serves metrics on a separate address.
struct MetricsServer: Service {
    let host: String
    let port: Int
    let socket: BoundSocket
    let responder: MetricsResponder
    let logger: Logger

    /// Returns the socket of the metrics address; nil without one.
    ///
    /// Throws ``ToolError`` if the address cannot be bound.
    static func socket(_ settings: Settings) throws(ToolError) -> BoundSocket? {
        guard case .address(let host, let port) = settings.observability.metrics else { return nil }
        do throws(ListenError) { return try BoundSocket(host: host, port: port) } catch {
            throw refusal(error, host: host, port: port)
        }
    }

    private static func refusal(_ error: ListenError, host: String, port: Int) -> ToolError {
        .failure("Metrics cannot be served on port \(port) of \(host): \(error). Change --metrics.")
    }

    /// Throws ``ToolError`` if it cannot listen.
    func run() async throws {
        let server = HTTPServer(
            host: host,
            port: port,
            socket: socket,
            limits: MetricsResponder.limits,
            responder: responder,
            logger: logger
        ) { [host, logger] port in
            logger.notice("Serving metrics", metadata: ["host": "\(host)", "port": "\(port)"])
        }
        do {
            try await server.run()
        } catch let error as ListenError {
            throw MetricsServer.refusal(error, host: host, port: port)
        }
    }
}
