internal import Foundation
internal import SkyrowConcurrency
internal import Synchronization

/// The error of a wait that timed out.
package struct WaitTimedOut: Error, CustomStringConvertible {
    package let description: String

    init(_ what: String, _ limit: Duration) {
        description = "Waited \(limit) for \(what) in vain"
    }
}

/// The default timeout of a wait, which only ends what hangs: long compared to any operation on a slow and busy machine, short
/// compared to the time limit of a whole run (scripts/test).
package let patience: Duration = .seconds(600)

/// The multiplier of all timeouts. `SKYROW_TEST_SLOWNESS` states how slow the build under test is, such as one with a
/// sanitizer.
let slowness = ProcessInfo.processInfo.environment["SKYROW_TEST_SLOWNESS"].flatMap { Int($0) } ?? 1

/// Runs `body` and returns its result. On a timeout the wait ends with ``WaitTimedOut``, even if `body` ignores its
/// cancellation.
///
/// ```swift
/// let port = try await waiting(for: "the server to listen") { await running.port }
/// ```
///
/// - Parameter hearsCancellation: Whether the wait ends when the waiting task is cancelled.
package func waiting<Success: Sendable>(
    for what: String,
    within limit: Duration = patience,
    hearsCancellation: Bool = true,
    _ body: @escaping @Sendable () async throws -> Success
) async throws -> Success {
    let limit = limit * slowness
    let outcome = Deferred<Result<Success, any Error>>()
    let work = Task {
        do {
            outcome.settle(.success(try await body()))
        } catch {
            outcome.settle(.failure(error))
        }
    }
    let timer = Task {
        try await Task.sleep(for: limit)
        outcome.settle(.failure(WaitTimedOut(what, limit)))
        work.cancel()
    }
    defer { timer.cancel() }
    return try await withTaskCancellationHandler {
        try await outcome.value().get()
    } onCancel: {
        guard hearsCancellation else { return }
        outcome.settle(.failure(CancellationError()))
        work.cancel()
    }
}

/// Runs `body` in the current task. On a timeout, `giveUp` must end the operation that `body` waits for, and the wait
/// ends with ``WaitTimedOut``.
///
/// ```swift
/// try await waiting(for: "a response") { channel.close(promise: nil) } _: { try await read() }
/// ```
package func waiting<Success>(
    for what: String,
    within limit: Duration = patience,
    giveUp: @escaping @Sendable () -> Void,
    _ body: () async throws -> Success
) async throws -> Success {
    let limit = limit * slowness
    let hasTimedOut = Flag()
    let timer = Task {
        try await Task.sleep(for: limit)
        hasTimedOut.raise()
        giveUp()
    }
    defer { timer.cancel() }
    do {
        let success = try await body()
        // An operation ended by `giveUp` may appear to succeed.
        if hasTimedOut.isRaised { throw WaitTimedOut(what, limit) }
        return success
    } catch {
        throw hasTimedOut.isRaised ? WaitTimedOut(what, limit) : error
    }
}

/// Polls `condition` until it holds, for state outside of the test, such as a server, a page or a process, and for
/// values that do not signal changes.
///
/// Each pause is an eighth of the wait so far, at most 50 ms: a condition often starts a session of PostgreSQL, which takes
/// the processor from what is waited for.
///
/// ```swift
/// try await waiting(until: "the service is ready") { try await service.status("readyz") == 200 }
/// ```
package func waiting(
    until what: String,
    within limit: Duration = patience,
    _ condition: () async throws -> Bool
) async throws {
    let limit = limit * slowness
    let beginning = ContinuousClock.now
    while try await !condition() {
        let waited = ContinuousClock.now - beginning
        guard waited < limit else { throw WaitTimedOut("the moment when \(what)", limit) }
        try await Task.sleep(for: min(max(waited / 8, .milliseconds(1)), .milliseconds(50)))
    }
}

private final class Flag: Sendable {
    private let state = Atomic(false)

    var isRaised: Bool { state.load(ordering: .sequentiallyConsistent) }

    func raise() {
        state.store(true, ordering: .sequentiallyConsistent)
    }
}
