import Glibc
import Logging
import ServiceLifecycle
import SkyrowHTTP
import UnixSignals

/// Reloads settings and certificate on SIGHUP, and applies the reloadable settings.
///
/// A closed terminal also sends SIGHUP. A service started on one then shuts down instead of running unnoticed. `run()`
/// returns only in that case and on shutdown.
struct SettingsReload: Service {
    /// The SIGHUPs, trapped first so that none ends the process.
    let signals: UnixSignalsSequence
    let loader: SettingsLoader
    /// The settings at the start of the service.
    let settings: Settings
    let certificate: ServerCertificate?
    let logger: Logger
    /// Applies the new values; settings it does not read stay unchanged.
    let apply: @Sendable (Settings) -> Void

    func run() async {
        let hasTerminal = isatty(STDIN_FILENO) == 1
        var current = settings
        for await _ in signals.cancelOnGracefulShutdown() {
            if hasTerminal, isatty(STDIN_FILENO) != 1 {
                logger.notice("The terminal was closed; shutting down")
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
