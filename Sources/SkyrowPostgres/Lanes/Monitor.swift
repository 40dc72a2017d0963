internal import Glibc

/// State that several threads share, and on which a thread can wait for a change.
///
/// Swift's `Mutex` has no condition to wait on, and a connection's thread has to sleep until there is work, so this is
/// a POSIX mutex with a condition. Nothing that blocks or waits for a task may run inside.
///
/// `@unchecked Sendable`: `state` is touched only between locking and unlocking `mutex`.
final class Monitor<State>: @unchecked Sendable {
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
    private var state: State

    init(_ state: State) {
        self.state = state
        pthread_mutex_init(mutex, nil)
        var attributes = pthread_condattr_t()
        pthread_condattr_init(&attributes)
        pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
        pthread_cond_init(condition, &attributes)
        pthread_condattr_destroy(&attributes)
    }

    deinit {
        pthread_cond_destroy(condition)
        pthread_mutex_destroy(mutex)
        condition.deallocate()
        mutex.deallocate()
    }

    func withLock<Success, Failure: Error>(
        _ body: (inout State) throws(Failure) -> Success
    ) throws(Failure) -> Success {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return try body(&state)
    }

    /// Wakes one waiting thread; may be called with or without the lock.
    func signal() {
        pthread_cond_signal(condition)
    }

    /// Wakes all waiting threads.
    func broadcast() {
        pthread_cond_broadcast(condition)
    }

    /// Asks `body` under the lock, again after each wake, until it has an answer; nil when the deadline passes first.
    func wait<Success>(until deadline: MonotonicTime? = nil, for body: (inout State) -> Success?) -> Success? {
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
