internal import Glibc

/// State that several threads share, and on which a thread can wait for a change.
///
/// Swift's `Mutex` has no condition to wait on, and a connection's thread has to sleep until there is work, so this is
/// a POSIX mutex with a condition. Nothing that blocks or waits for a task may run inside.
///
/// `@unchecked Sendable`: `state` is touched only between locking and unlocking `mutex`; mutex and conditions are POSIX
/// objects, made to be used from several threads, whose addresses never change.
final class Monitor<State>: @unchecked Sendable {
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    /// The one that all share, then those of single threads.
    private let conditions: UnsafeMutablePointer<pthread_cond_t>
    private let sleepers: Int
    private var state: State

    /// - Parameter sleepers: how many threads have a condition of their own, so that they can be woken one by one.
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

    /// Wakes one waiting thread, or the one that sleeps by itself; may be called with or without the lock.
    func signal(_ sleeper: Int? = nil) {
        pthread_cond_signal(condition(of: sleeper))
    }

    /// Wakes all threads that wait on the condition they share.
    func broadcast() {
        pthread_cond_broadcast(condition(of: nil))
    }

    /// Asks `body` under the lock, again after each wake, until it has a result; nil when the deadline passes first.
    ///
    /// - Parameter sleeper: Sleeps on a condition of its own instead of the one that all share.
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
