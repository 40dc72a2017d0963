/// Waiters for a turn, first come, first served: as a value, without a lock, a clock or a task.
///
/// A waiter is taken out of the line once: by ``serve()``, by ``leave(_:)`` or with others. It belongs to the state that its owner
/// guards with a lock; what takes a waiter out resumes it, after the lock. So each is resumed once, and a turn never goes to one
/// that has left.
///
/// ```swift
/// let ticket = line.enter(waiter)
/// line.leave(ticket)  // the waiter, unless it was served meanwhile
/// ```
package struct WaiterLine<Waiter> {
    package typealias Ticket = UInt64

    @usableFromInline var waiters: [Ticket: Waiter] = [:]
    /// No ticket before this one waits.
    @usableFromInline var first: Ticket = 0
    @usableFromInline var next: Ticket = 0

    @inlinable
    package init() {}

    @inlinable
    package var isEmpty: Bool { waiters.isEmpty }

    @inlinable
    package var count: Int { waiters.count }

    /// Those that wait, in the order in which they came.
    package var all: [Waiter] { waiters.sorted { $0.key < $1.key }.map(\.value) }

    /// Puts a waiter at the end.
    @inlinable
    package mutating func enter(_ waiter: Waiter) -> Ticket {
        defer { next += 1 }
        waiters[next] = waiter
        return next
    }

    /// Puts another waiter in the place of one; false when that does not wait any more.
    package mutating func replace(_ ticket: Ticket, by waiter: Waiter) -> Bool {
        guard waiters[ticket] != nil else { return false }
        waiters[ticket] = waiter
        return true
    }

    /// Takes out the one that came first.
    @inlinable
    package mutating func serve() -> Waiter? {
        guard !waiters.isEmpty else { return nil }
        while first < next {
            defer { first += 1 }
            if let waiter = waiters.removeValue(forKey: first) { return waiter }
        }
        return nil
    }

    /// Takes out a waiter whose wait ends without a turn; nil when it does not wait any more.
    @inlinable
    package mutating func leave(_ ticket: Ticket) -> Waiter? {
        defer { if waiters.isEmpty { first = next } }
        return waiters.removeValue(forKey: ticket)
    }

    /// Takes out all waiters of a kind, such as all whose time is up.
    package mutating func leave(where hasToLeave: (Waiter) -> Bool) -> [Waiter] {
        let tickets = waiters.filter { hasToLeave($0.value) }.keys.sorted()
        return tickets.compactMap { leave($0) }
    }

    /// Takes out all.
    package mutating func close() -> [Waiter] {
        leave { _ in true }
    }
}

extension WaiterLine: Sendable where Waiter: Sendable {}
