import SkyrowModel
import SkyrowSystem

/// Runs `body` within the time limit of a request, if there is one.
///
/// Throws `122 ResponseTimeout` when `body` was cancelled because its time was over, and what it throws otherwise.
func within<Success: Sendable>(
    _ limit: Duration?,
    _ body: @escaping @Sendable () async throws(SkyrowError) -> Success
) async throws(SkyrowError) -> Success {
    guard let limit else { return try await body() }
    let result = await withTaskGroup(of: Result<Success, SkyrowError>?.self) { group in
        // The group waits for both tasks, so the other one is cancelled.
        defer { group.cancelAll() }
        group.addTask {
            do throws(SkyrowError) { return .success(try await body()) } catch { return .failure(error) }
        }
        group.addTask {
            // Ends early when the request is cancelled; the body is cancelled then, too.
            try? await ServiceTimer.sleep(for: limit)
            return nil
        }
        if let result = await group.next() ?? nil { return result }
        group.cancelAll()
        // A result that arrived in the meantime counts.
        if case .success(let success)? = await group.next() ?? nil { return .success(success) }
        return .failure(.outOfTime)
    }
    return try result.get()
}

extension SkyrowError {
    fileprivate static let outOfTime = SkyrowError(
        .responseTimeout,
        "The database did not finish within the request's timeout_ms; the statement was cancelled.",
        info: ["arguments": .list([.string("timeout_ms")])]
    )
}
