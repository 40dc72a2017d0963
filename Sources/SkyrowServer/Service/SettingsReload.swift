import Glibc
import Logging
import ServiceLifecycle
import SkyrowHTTP
import UnixSignals

/// Reads the settings and the certificate again on SIGHUP, and has the parts of the service take what may change.
///
/// A terminal that goes away sends SIGHUP too: a service that was started on one then shuts down, rather than live on
/// unseen. `run()` returns in that case only, and when the service shuts down.
struct SettingsReload: Service {
    /// SIGHUPs, trapped before anything else so that none ends the process.
    let signals: UnixSignalsSequence
    let loader: SettingsLoader
    /// What the service was started with.
    let settings: Settings
    let certificate: ServerCertificate?
    let logger: Logger
    /// What takes the new values; everything it does not look at stays as it was.
    let apply: @Sendable (Settings) -> Void

    func run() async {
        let hasTerminal = isatty(STDIN_FILENO) == 1
        var current = settings
        for await _ in signals.cancelOnGracefulShutdown() {
            if hasTerminal, isatty(STDIN_FILENO) != 1 {
                logger.notice("The terminal is gone")
                return
            }
            certificate?.reload()
            do {
                let new = try loader.load()
                apply(new)
                report(SettingsChange(from: current, to: new))
                current = new
            } catch {
                logger.error("The settings were not reloaded", metadata: ["error": "\(error)"])
            }
        }
    }

    private func report(_ change: SettingsChange) {
        logger.notice(
            "The settings were reloaded",
            metadata: ["changed": .string(change.applied.joined(separator: ", "))]
        )
        if !change.waiting.isEmpty {
            logger.warning(
                "Some settings take effect at the next start",
                metadata: ["settings": .string(change.waiting.joined(separator: ", "))]
            )
        }
    }
}
