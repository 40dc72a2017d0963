/// Runs `body` while something else runs, which is cancelled afterwards and awaited.
///
/// ```swift
/// try await withRunning { try await client.run() } while: { … }
/// ```
package func withRunning<Success>(
    _ run: @escaping @Sendable () async throws -> Void,
    while body: () async throws -> Success
) async throws -> Success {
    let running = Task { try await run() }
    do {
        let success = try await body()
        running.cancel()
        try await running.value
        return success
    } catch {
        running.cancel()
        // The body's error is the one that matters.
        _ = await running.result
        throw error
    }
}
