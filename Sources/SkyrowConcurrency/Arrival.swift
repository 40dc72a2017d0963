/// A value that arrives once and its waiters, as a value type without a lock or a task (``Deferred``).
struct Arrival<Value, Waiter> {
    /// What a task that is about to suspend does.
    enum Step {
        case goesOn(Value)
        /// The task's wait was ended before it suspended.
        case hasLeft
        case waits
    }

    private(set) var value: Value?
    /// Nil entries are tickets whose task has not suspended yet.
    private var line = WaiterLine<Waiter?>()

    /// Adds a waiter that cannot leave; returns the value if it has arrived.
    mutating func enter(_ waiter: Waiter) -> Value? {
        if value == nil { _ = line.enter(waiter) }
        return value
    }

    /// Adds a waiter that may leave, before or after it suspends; returns its ticket.
    mutating func enter() -> WaiterLine<Waiter?>.Ticket {
        line.enter(nil)
    }

    mutating func suspend(_ ticket: WaiterLine<Waiter?>.Ticket, _ waiter: Waiter) -> Step {
        if let value {
            _ = line.leave(ticket)
            return .goesOn(value)
        }
        return line.replace(ticket, by: waiter) ? .waits : .hasLeft
    }

    /// Ends one wait; returns the waiter to resume.
    mutating func leave(_ ticket: WaiterLine<Waiter?>.Ticket) -> Waiter? {
        line.leave(ticket) ?? nil
    }

    /// Stores the value and returns the waiters to resume; returns nil when a value has already arrived.
    mutating func settle(_ value: Value) -> [Waiter]? {
        guard self.value == nil else { return nil }
        self.value = value
        return line.close().compactMap(\.self)
    }
}
