/// A dense table of values by generated numbers.
///
/// A hash table allocates up to two and a half times as many slots as it has values. This table reuses a slot, but never a
/// number: the number of a removed value finds nothing.
///
/// ```swift
/// var groups = SlotTable<Boxed<SubscriptionGroup>>()
/// let number = groups.insert(Boxed(group))
/// groups[number]?.members = .known
/// ```
struct SlotTable<Value> {
    private var values: [Value?] = []
    /// The serial of each slot's value, which distinguishes it from earlier values of the slot.
    private var serials: [UInt32] = []
    private var free: [UInt32] = []
    private var lastSerial: UInt32 = 0

    var count: Int { values.count - free.count }
    var isEmpty: Bool { count == 0 }

    /// The numbers of all values.
    var numbers: [Int] {
        values.indices.compactMap { values[$0] == nil ? nil : Self.number(UInt32($0), serials[$0]) }
    }

    /// Inserts a value into a free slot; returns its number.
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

    /// Removes a value; returns nil for a number without one.
    @discardableResult
    mutating func remove(_ number: Int) -> Value? {
        guard let slot = slot(of: number), let value = values[slot] else { return nil }
        values[slot] = nil
        vacate(slot)
        return value
    }

    /// The value of a number; nil for an unknown number, for which changes have no effect.
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
        // The serial continues, so that later numbers differ.
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
