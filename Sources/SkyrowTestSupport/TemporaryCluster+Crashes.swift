internal import Foundation

extension TemporaryCluster {
    /// Kills a process of the server, as a machine without memory does; it ends all others, recovers and goes on, with the same
    /// start.
    package func killOneProcess() async throws {
        guard let process = try await logWriter() else { return }
        _ = Foundation.kill(process, SIGKILL)
        try await waiting(until: "the server has recovered") {
            guard let next = try? await logWriter() else { return false }
            return next != process
        }
    }

    /// Has the process stand still that writes the log of PostgreSQL where no commit does.
    package func stopLogWriter() async throws {
        guard let process = try await logWriter() else { return }
        _ = Foundation.kill(process, SIGSTOP)
    }

    private func logWriter() async throws -> pid_t? {
        pid_t(try await psql("SELECT pid FROM pg_stat_activity WHERE backend_type = 'walwriter'"))
    }
}
