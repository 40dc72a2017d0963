/// Waiters in a first-come, first-served line, as a value type without a lock, a clock or a task.
///
/// A waiter is removed from the line once: by ``serve()``, by ``leave(_:)`` or in bulk. The line is part of the state that its
/// owner guards with a lock; the code that removes a waiter resumes it after releasing the lock. Each waiter is therefore resumed
/// once, and a waiter that has left is never served.
///
/// ```swift
/// let ticket = line.enter(waiter)
/// line.leave(ticket)  // the waiter, unless it was served meanwhile
/// ```
package struct WaiterLine<Waiter> {
    package typealias Ticket = UInt64

    @usableFromInline var waiters: [Ticket: Waiter] = [:]
    /// No waiter has a ticket below this one.
    @usableFromInline var first: Ticket = 0
    @usableFromInline var next: Ticket = 0

    @inlinable
    package init() {}

    @inlinable
    package var isEmpty: Bool { waiters.isEmpty }

    @inlinable
    package var count: Int { waiters.count }

    /// The waiters in the order of arrival.
    package var all: [Waiter] { waiters.sorted { $0.key < $1.key }.map(\.value) }

    /// Adds a waiter at the end.
    @inlinable
    package mutating func enter(_ waiter: Waiter) -> Ticket {
        defer { next += 1 }
        waiters[next] = waiter
        return next
    }

    /// Replaces the waiter of a ticket; returns false when it no longer waits.
    package mutating func replace(_ ticket: Ticket, by waiter: Waiter) -> Bool {
        guard waiters[ticket] != nil else { return false }
        waiters[ticket] = waiter
        return true
    }

    /// Removes the first waiter.
    @inlinable
    package mutating func serve() -> Waiter? {
        guard !waiters.isEmpty else { return nil }
        while first < next {
            defer { first += 1 }
            if let waiter = waiters.removeValue(forKey: first) { return waiter }
        }
        return nil
    }

    /// Removes a waiter that leaves unserved; returns nil when it no longer waits.
    @inlinable
    package mutating func leave(_ ticket: Ticket) -> Waiter? {
        defer { if waiters.isEmpty { first = next } }
        return waiters.removeValue(forKey: ticket)
    }

    /// Removes all waiters that satisfy a condition, such as an expired deadline.
    package mutating func leave(where hasToLeave: (Waiter) -> Bool) -> [Waiter] {
        let tickets = waiters.filter { hasToLeave($0.value) }.keys.sorted()
        return tickets.compactMap { leave($0) }
    }

    /// Removes all waiters.
    package mutating func close() -> [Waiter] {
        leave { _ in true }
    }
}

extension WaiterLine: Sendable where Waiter: Sendable {}
