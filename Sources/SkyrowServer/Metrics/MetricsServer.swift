import Logging
import ServiceLifecycle
import SkyrowHTTP
import SkyrowSystem

/// Serves metrics on an address of their own.
struct MetricsServer: Service {
    let host: String
    let port: Int
    let responder: MetricsResponder
    let logger: Logger

    /// Throws ``ToolError`` when it cannot listen there.
    func run() async throws {
        let server = HTTPServer(
            host: host,
            port: port,
            limits: MetricsResponder.limits,
            responder: responder,
            logger: logger
        ) { [host, logger] port in
            logger.notice("Metrics are served", metadata: ["host": "\(host)", "port": "\(port)"])
        }
        do {
            try await server.run()
        } catch let error as ListenError {
            throw ToolError.failure(
                "Metrics cannot be served on port \(port) of \(host): \(error). Give another --metrics."
            )
        }
    }
}
