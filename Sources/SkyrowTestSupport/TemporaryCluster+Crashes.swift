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

    /// Has every process of the server stand still while `body` runs, as a disk does that does not answer.
    package func whileStandingStill<Success>(_ body: () async throws -> Success) async throws -> Success {
        guard let postmaster = postmasterID else {
            throw TemporaryClusterError(description: "The temporary cluster does not run.")
        }
        // The parent first, so that there are no further children.
        _ = Foundation.kill(postmaster, SIGSTOP)
        let processes = [postmaster] + Self.children(of: postmaster)
        for process in processes { _ = Foundation.kill(process, SIGSTOP) }
        defer { for process in processes { _ = Foundation.kill(process, SIGCONT) } }
        return try await body()
    }

    private func logWriter() async throws -> pid_t? {
        pid_t(try await psql("SELECT pid FROM pg_stat_activity WHERE backend_type = 'walwriter'"))
    }
}
