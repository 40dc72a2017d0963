/// Values under numbers of their own, in places that lie side by side.
///
/// A table of hashes has up to two and a half times as many places as values. A place is used again here, and a number is not: who
/// still has the number of a value that is gone finds nothing.
///
/// ```swift
/// var groups = SlotTable<Boxed<SubscriptionGroup>>()
/// let number = groups.insert(Boxed(group))
/// groups[number]?.members = .known
/// ```
struct SlotTable<Value> {
    private var values: [Value?] = []
    /// What distinguishes the value of a place from those that were there before.
    private var serials: [UInt32] = []
    private var free: [UInt32] = []
    private var lastSerial: UInt32 = 0

    var count: Int { values.count - free.count }
    var isEmpty: Bool { count == 0 }

    /// The numbers of all values.
    var numbers: [Int] {
        values.indices.compactMap { values[$0] == nil ? nil : Self.number(UInt32($0), serials[$0]) }
    }

    /// Puts a value into a free place; returns its number.
    mutating func insert(_ value: Value) -> Int {
        lastSerial &+= 1
        if let slot = free.popLast() {
            values[Int(slot)] = value
            serials[Int(slot)] = lastSerial
            return Self.number(slot, lastSerial)
        }
        values.append(value)
        serials.append(lastSerial)
        return Self.number(UInt32(values.count - 1), lastSerial)
    }

    /// Takes a value out; nil for a number that has none.
    @discardableResult
    mutating func remove(_ number: Int) -> Value? {
        guard let slot = slot(of: number), let value = values[slot] else { return nil }
        values[slot] = nil
        vacate(slot)
        return value
    }

    /// The value of a number; nil where there is none, and then there is nothing to change.
    subscript(number: Int) -> Value? {
        get { slot(of: number).flatMap { values[$0] } }
        _modify {
            if let slot = slot(of: number), values[slot] != nil {
                yield &values[slot]
                if values[slot] == nil { vacate(slot) }
            } else {
                var nothing: Value?
                yield &nothing
            }
        }
    }

    private mutating func vacate(_ slot: Int) {
        free.append(UInt32(slot))
        guard isEmpty else { return }
        // The serial goes on, so that the next numbers are others.
        values = []
        serials = []
        free = []
    }

    private func slot(of number: Int) -> Int? {
        let slot = number & Self.slotMask
        guard slot < serials.count, serials[slot] == UInt32(truncatingIfNeeded: number >> Self.slotBits) else {
            return nil
        }
        return slot
    }

    private static var slotBits: Int { 32 }
    private static var slotMask: Int { 1 << slotBits - 1 }

    private static func number(_ slot: UInt32, _ serial: UInt32) -> Int {
        Int(bitPattern: UInt(serial) << UInt(slotBits) | UInt(slot))
    }
}

extension SlotTable: Sendable where Value: Sendable {}
