internal import Glibc

/// State shared by several threads, with conditions on which a thread waits for a change.
///
/// Swift's `Mutex` has no condition variable, and a connection's thread must sleep until there is work, so this is a POSIX mutex
/// with conditions. Code inside the lock must not block or wait for a task.
///
/// `@unchecked Sendable`: `state` is accessed only while `mutex` is locked. The mutex and the conditions are POSIX objects, which
/// may be used from several threads, and their addresses never change.
final class Monitor<State>: @unchecked Sendable {
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    /// The shared condition, followed by the conditions of single threads.
    private let conditions: UnsafeMutablePointer<pthread_cond_t>
    private let sleepers: Int
    private var state: State

    /// - Parameter sleepers: How many threads have their own condition, so that they can be woken one by one.
    init(_ state: State, sleepers: Int = 0) {
        self.state = state
        pthread_mutex_init(mutex, nil)
        self.sleepers = sleepers
        conditions = .allocate(capacity: sleepers + 1)
        var attributes = pthread_condattr_t()
        pthread_condattr_init(&attributes)
        pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
        for index in 0...sleepers { pthread_cond_init(conditions + index, &attributes) }
        pthread_condattr_destroy(&attributes)
    }

    deinit {
        for index in 0...sleepers { pthread_cond_destroy(conditions + index) }
        conditions.deallocate()
        pthread_mutex_destroy(mutex)
        mutex.deallocate()
    }

    private func condition(of sleeper: Int?) -> UnsafeMutablePointer<pthread_cond_t> {
        guard let sleeper else { return conditions }
        precondition((0..<sleepers).contains(sleeper), "There is no such sleeper.")
        return conditions + sleeper + 1
    }

    func withLock<Success, Failure: Error>(
        _ body: (inout State) throws(Failure) -> Success
    ) throws(Failure) -> Success {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return try body(&state)
    }

    /// Wakes one thread waiting on the shared condition, or the given sleeper; may be called with or without the lock.
    func signal(_ sleeper: Int? = nil) {
        pthread_cond_signal(condition(of: sleeper))
    }

    /// Wakes all threads that wait on the shared condition.
    func broadcast() {
        pthread_cond_broadcast(condition(of: nil))
    }

    /// Calls `body` under the lock, and again after each wake, until it returns a
    /// value; returns nil when the deadline passes first.
    ///
    /// - Parameter sleeper: The thread's own condition to sleep on; nil means the shared one.
    func wait<Success>(
        until deadline: MonotonicTime? = nil,
        as sleeper: Int? = nil,
        for body: (inout State) -> Success?
    ) -> Success? {
        let condition = condition(of: sleeper)
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        while true {
            if let success = body(&state) { return success }
            guard let deadline else {
                pthread_cond_wait(condition, mutex)
                continue
            }
            var time = timespec(
                tv_sec: Int(deadline.nanoseconds / 1_000_000_000),
                tv_nsec: Int(deadline.nanoseconds % 1_000_000_000)
            )
            if pthread_cond_timedwait(condition, mutex, &time) == ETIMEDOUT { return body(&state) }
        }
    }
}
