/// Runs `body` concurrently with `run`, which is cancelled and awaited afterwards. Both have a deadline.
///
/// If `body` takes too long, `run` is cancelled, which ends the wait of `body`.
///
/// ```swift
/// try await withRunning { try await client.run() } while: { … }
/// ```
package func withRunning<Success>(
    _ run: @escaping @Sendable () async throws -> Void,
    within limit: Duration = .seconds(1200),
    while body: () async throws -> Success
) async throws -> Success {
    let running = Task { try await run() }
    do {
        let success = try await waiting(
            for: "a test's work with a client or service",
            within: limit,
            giveUp: { running.cancel() },
            body
        )
        running.cancel()
        try await waiting(for: "the end of what was cancelled", hearsCancellation: false) { try await running.value }
        return success
    } catch {
        running.cancel()
        // The body's error takes precedence.
        _ = try? await waiting(for: "the end of what was cancelled", hearsCancellation: false) {
            try await running.value
        }
        throw error
    }
}
