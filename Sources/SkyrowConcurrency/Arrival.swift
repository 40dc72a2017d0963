/// A value that arrives once, and who waits for it: as a value, without a lock or a task (``Deferred``).
struct Arrival<Value, Waiter> {
    /// What becomes of one that is about to suspend.
    enum Step {
        case goesOn(Value)
        /// It has left before it was suspended.
        case hasLeft
        case waits
    }

    private(set) var value: Value?
    /// Those that have a ticket, and have yet to suspend, are nil.
    private var line = WaiterLine<Waiter?>()

    /// Lets one wait that does not leave; returns the value where it has arrived.
    mutating func enter(_ waiter: Waiter) -> Value? {
        if value == nil { _ = line.enter(waiter) }
        return value
    }

    /// A ticket for one that may leave, before and after it suspends.
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

    /// Ends the wait of one; returns whom to resume.
    mutating func leave(_ ticket: WaiterLine<Waiter?>.Ticket) -> Waiter? {
        line.leave(ticket) ?? nil
    }

    /// Takes the value; returns whom to resume with it, nil where one has arrived before.
    mutating func settle(_ value: Value) -> [Waiter]? {
        guard self.value == nil else { return nil }
        self.value = value
        return line.close().compactMap(\.self)
    }
}
