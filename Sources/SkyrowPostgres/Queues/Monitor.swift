internal import Glibc

/// State that several threads share, and on which a thread can wait for a change.
///
/// Swift's `Mutex` has no condition to wait on, and a connection's thread has to sleep until there is work, so this is
/// a POSIX mutex with a condition. Nothing that blocks or waits for a task may run inside.
///
/// `@unchecked Sendable`: `state` is touched only between locking and unlocking `mutex`.
final class Monitor<State>: @unchecked Sendable {
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let condition = Condition()
    private var state: State

    init(_ state: State) {
        self.state = state
        pthread_mutex_init(mutex, nil)
    }

    deinit {
        pthread_mutex_destroy(mutex)
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
        condition.signal()
    }

    /// Wakes all waiting threads.
    func broadcast() {
        condition.broadcast()
    }

    /// Asks `body` under the lock, again after each wake, until it has a result; nil when the deadline passes first.
    ///
    /// - Parameter own: A condition to sleep on instead of the one that all share, so that one thread can be woken.
    func wait<Success>(
        until deadline: MonotonicTime? = nil,
        on own: Condition? = nil,
        for body: (inout State) -> Success?
    ) -> Success? {
        let condition = own?.handle ?? condition.handle
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

/// What a thread sleeps on; used with the lock of one ``Monitor`` only.
///
/// `@unchecked Sendable`: POSIX conditions are made to be used from several threads, and the pointer never changes.
final class Condition: @unchecked Sendable {
    fileprivate let handle = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)

    init() {
        var attributes = pthread_condattr_t()
        pthread_condattr_init(&attributes)
        pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
        pthread_cond_init(handle, &attributes)
        pthread_condattr_destroy(&attributes)
    }

    deinit {
        pthread_cond_destroy(handle)
        handle.deallocate()
    }

    /// Wakes one waiting thread; may be called with or without the lock.
    func signal() {
        pthread_cond_signal(handle)
    }

    func broadcast() {
        pthread_cond_broadcast(handle)
    }
}
