internal import Synchronization

/// A value that arrives once, from any thread, for any number of waiting tasks.
///
/// Tasks are suspended by hand only here; other types that wait are built on it. The value is kept as long as this object.
///
/// ```swift
/// let outcome = Deferred<Int>()
/// thread.run { outcome.settle(work()) }
/// let number = await outcome.value()
/// ```
package final class Deferred<Value: Sendable>: Sendable {
    private let state = Mutex(Arrival<Value, CheckedContinuation<Value, Never>>())

    package init() {}

    /// The value, if it has arrived.
    package var settled: Value? { state.withLock(\.value) }

    /// Stores the value; returns false when one has already arrived, which is kept.
    @discardableResult
    package func settle(_ value: Value) -> Bool {
        guard let waiters = state.withLock({ $0.settle(value) }) else { return false }
        for waiter in waiters { waiter.resume(returning: value) }
        return true
    }

    /// Waits for the value, even in a cancelled task.
    package func value() async -> Value {
        if let settled { return settled }
        return await withCheckedContinuation { waiter in
            if let value = state.withLock({ $0.enter(waiter) }) { waiter.resume(returning: value) }
        }
    }

    /// Waits for the value or the cancellation of the task, which ends only this wait.
    package func value(ifCancelled cancelled: Value) async -> Value {
        let ticket = state.withLock { $0.enter() }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { waiter in
                switch state.withLock({ $0.suspend(ticket, waiter) }) {
                case .goesOn(let value): waiter.resume(returning: value)
                case .hasLeft: waiter.resume(returning: cancelled)
                case .waits: break
                }
            }
        } onCancel: {
            state.withLock { $0.leave(ticket) }?.resume(returning: cancelled)
        }
    }

    /// Waits for the value.
    ///
    /// - Parameters:
    ///   - sleep: Sleeps for the longest time to wait.
    ///   - giveUp: Called when that time has passed and when the task is cancelled;
    ///     it must settle the value, unless other code is about to.
    package func value(
        during sleep: (@Sendable () async throws -> Void)? = nil,
        _ giveUp: @escaping @Sendable (WaitEnd) -> Void
    ) async -> Value {
        let timer = sleep.map { sleep in
            Task { if (try? await sleep()) != nil { giveUp(.late) } }
        }
        defer { timer?.cancel() }
        return await withTaskCancellationHandler {
            await value()
        } onCancel: {
            giveUp(.cancelled)
        }
    }
}

extension Deferred<Void> {
    @discardableResult
    package func settle() -> Bool { settle(()) }
}

/// Why a wait is given up.
package enum WaitEnd: Hashable, Sendable {
    case cancelled
    case late
}
