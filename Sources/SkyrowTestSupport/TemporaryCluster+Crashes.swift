internal import Foundation

extension TemporaryCluster {
    /// Kills a process of the server, as the out-of-memory killer does. The server ends all others, recovers and
    /// continues, with the same start time.
    package func killOneProcess() async throws {
        guard let process = try await logWriter() else { return }
        _ = Foundation.kill(process, SIGKILL)
        try await waiting(until: "the server has recovered") {
            guard let next = try? await logWriter() else { return false }
            return next != process
        }
    }

    /// Suspends the WAL writer process, which writes the log for asynchronous commits.
    package func stopLogWriter() async throws {
        guard let process = try await logWriter() else { return }
        _ = Foundation.kill(process, SIGSTOP)
    }

    /// Suspends every process of the server during `body`, like a disk that does not respond.
    package func whileStandingStill<Success>(_ body: () async throws -> Success) async throws -> Success {
        guard let postmaster = postmasterID else {
            throw TemporaryClusterError(description: "The temporary cluster does not run.")
        }
        // The parent is suspended first, so it starts no further children.
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
