internal import Synchronization

/// A value that arrives once, for any number of tasks that wait for it, and from any thread.
///
/// It is the one place where tasks are suspended by hand: what else waits keeps values of this kind.
/// A value that has arrived is kept for as long as this is, with all that it refers to.
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

    /// Lets the value arrive; false when one has before, which stays.
    @discardableResult
    package func settle(_ value: Value) -> Bool {
        guard let waiters = state.withLock({ $0.settle(value) }) else { return false }
        for waiter in waiters { waiter.resume(returning: value) }
        return true
    }

    /// Waits until it arrives, also in a task that is cancelled.
    package func value() async -> Value {
        if let settled { return settled }
        return await withCheckedContinuation { waiter in
            if let value = state.withLock({ $0.enter(waiter) }) { waiter.resume(returning: value) }
        }
    }

    /// Waits until it arrives or the task is cancelled, which ends the wait of this task alone.
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

    /// Waits until it arrives.
    ///
    /// - Parameters:
    ///   - sleep: sleeps for as long as is waited at most.
    ///   - giveUp: is called when that time is over and when the task is cancelled; it settles the value, or something else is
    ///     about to.
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
