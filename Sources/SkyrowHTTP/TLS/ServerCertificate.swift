import Glibc
package import Logging
import NIOSSL
import ServiceLifecycle
import SkyrowSystem
import Synchronization

/// A server's certificate, read from files and reloaded when they change.
///
/// ```swift
/// let certificate = try ServerCertificate(files, logger: logger)
/// let server = HTTPServer(host: host, port: port, certificate: certificate, responder: responder, logger: logger)
/// ```
///
/// Connections keep the certificate with which they began. Unusable files leave the previous certificate in use.
package final class ServerCertificate: Service {
    private struct State {
        var context: NIOSSLContext
        var reload: CertificateReload
    }

    private let files: CertificateFiles
    private let interval: Duration
    private let logger: Logger
    private let state: Mutex<State>

    /// - Parameter interval: How often the files are checked for changes; a change is loaded when it is seen twice.
    ///
    /// Throws ``CertificateError`` when the files cannot be used.
    package init(_ files: CertificateFiles, interval: Duration = .seconds(5), logger: Logger) throws(CertificateError) {
        self.files = files
        self.interval = interval
        self.logger = logger
        let reload = CertificateReload(known: files.stamp())
        let (context, end) = try files.load()
        state = Mutex(State(context: context, reload: reload))
        warn(ofEnd: end)
    }

    /// The TLS context of new connections.
    var context: NIOSSLContext { state.withLock { $0.context } }

    /// Checks the files periodically until the service shuts down.
    package func run() async throws {
        await cancelWhenGracefulShutdown {
            while true {
                do {
                    try await ServiceTimer.sleep(for: self.interval)
                } catch {
                    return
                }
                let stamp = self.files.stamp()
                if self.state.withLock({ $0.reload.shouldRead(stamp) }) { self.read() }
            }
        }
    }

    /// Reads the files again, changed or not.
    package func reload() {
        let reload = CertificateReload(known: files.stamp())
        state.withLock { $0.reload = reload }
        read()
    }

    private func read() {
        do throws(CertificateError) {
            let (context, end) = try files.load()
            state.withLock { $0.context = context }
            logger.notice("The TLS certificate was reloaded", metadata: ["file": "\(files.certificate)"])
            warn(ofEnd: end)
        } catch {
            logger.error(
                "The new TLS certificate cannot be used; the previous one stays in use",
                metadata: ["reason": "\(error)"]
            )
        }
    }

    private func warn(ofEnd end: Int) {
        guard end <= time(nil) else { return }
        logger.warning(
            "The TLS certificate has expired; clients will refuse it",
            metadata: ["file": "\(files.certificate)"]
        )
    }
}
