internal import Synchronization

/// Work that runs once for all tasks that wait for it at the same time, by key. It runs in a separate task, which is cancelled when
/// the last of them is.
///
/// ```swift
/// let thumbnail = await work.value(for: name, ifCancelled: nil) { await make(name) }
/// ```
package final class SharedWork<Key: Hashable & Sendable, Success: Sendable>: Sendable {
    private struct Running {
        let outcome: Deferred<Success>
        let task: Task<Void, Never>
        var waiting = 1
    }

    private let running = Mutex<[Key: Running]>([:])

    package init() {}

    /// The number of tasks that wait for a key.
    package func waiting(for key: Key) -> Int {
        running.withLock { $0[key]?.waiting ?? 0 }
    }

    /// Returns the outcome of the running work, or of work that begins now.
    ///
    /// - Parameters:
    ///   - cancelled: what a task gets that is cancelled while it waits.
    ///   - work: Does the work of the key; the same for all callers.
    package func value(
        for key: Key,
        ifCancelled cancelled: Success,
        _ work: @escaping @Sendable () async -> Success
    ) async -> Success {
        let outcome = join(key, work)
        let value = await outcome.value(ifCancelled: cancelled)
        leave(key, outcome)
        return value
    }

    private func join(_ key: Key, _ work: @escaping @Sendable () async -> Success) -> Deferred<Success> {
        running.withLock { running in
            if let outcome = running[key]?.outcome {
                running[key]?.waiting += 1
                return outcome
            }
            let outcome = Deferred<Success>()
            let task = Task {
                let success = await work()
                self.end(key, outcome)
                outcome.settle(success)
            }
            running[key] = Running(outcome: outcome, task: task)
            return outcome
        }
    }

    /// Tasks that come from now on begin other work.
    private func end(_ key: Key, _ outcome: Deferred<Success>) {
        running.withLock { running in
            if running[key]?.outcome === outcome { running[key] = nil }
        }
    }

    private func leave(_ key: Key, _ outcome: Deferred<Success>) {
        let abandoned = running.withLock { running -> Task<Void, Never>? in
            // Work that has ended is no longer there, nor is work that was cancelled.
            guard running[key]?.outcome === outcome else { return nil }
            running[key]?.waiting -= 1
            guard running[key]?.waiting == 0 else { return nil }
            return running.removeValue(forKey: key)?.task
        }
        abandoned?.cancel()
    }
}
