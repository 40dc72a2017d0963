/// The list of a result that is kept current: the service finds what differs in the next one, and a client applies it.
///
/// ```swift
/// var known = WatchedList<String, Int>()
/// let changes = known.replace(with: next)
/// shown.apply(changes)  // what is shown is the next one
/// ```
package struct WatchedList<ID: Hashable & Sendable, Value: Hashable & Sendable>: Hashable, Sendable {
    package struct Entry: Hashable, Sendable {
        package let id: ID
        package let value: Value

        package init(id: ID, value: Value) {
            self.id = id
            self.value = value
        }
    }

    /// What is sent of a record: behind all that leave, those that come, change or move, in the order of their places.
    package enum Change: Hashable, Sendable {
        case left(ID)
        case entered(Entry, at: Int)
        /// It is another one, or at another place, or both.
        case updated(Entry, at: Int)

        fileprivate var id: ID {
            switch self {
            case .left(let id): id
            case .entered(let entry, _), .updated(let entry, _): entry.id
            }
        }
    }

    package private(set) var entries: [Entry] = []

    package init() {}

    /// Takes the next list; returns what one has to change that shows this one. The fewest records are moved.
    package mutating func replace(with next: [Entry]) -> [Change] {
        defer { entries = next }
        let former = Dictionary(
            entries.enumerated().map { ($1.id, (place: $0, value: $1.value)) },
            uniquingKeysWith: { first, _ in first }
        )
        let present = Set(next.map(\.id))
        var changes: [Change] = entries.filter { !present.contains($0.id) }.map { .left($0.id) }
        let unmoved = Set(longestAscent(next.compactMap { former[$0.id]?.place }))
        for (place, entry) in next.enumerated() {
            guard let known = former[entry.id] else {
                changes.append(.entered(entry, at: place))
                continue
            }
            if known.value != entry.value || !unmoved.contains(known.place) {
                changes.append(.updated(entry, at: place))
            }
        }
        return changes
    }

    /// Takes all records out that the changes name, and puts those with a place in, one after the other.
    package mutating func apply(_ changes: [Change]) {
        let named = Set(changes.map(\.id))
        entries.removeAll { named.contains($0.id) }
        for change in changes {
            switch change {
            case .left: break
            case .entered(let entry, let place), .updated(let entry, let place):
                entries.insert(entry, at: min(place, entries.count))
            }
        }
    }
}

/// The longest part of distinct numbers that ascends.
private func longestAscent(_ numbers: [Int]) -> [Int] {
    // The places of the least numbers with which an ascent of each length ends, and of the number before each.
    var ends: [Int] = []
    var before = [Int?](repeating: nil, count: numbers.count)
    for (place, number) in numbers.enumerated() {
        var (low, high) = (0, ends.count)
        while low < high {
            let middle = (low + high) / 2
            if numbers[ends[middle]] < number { low = middle + 1 } else { high = middle }
        }
        before[place] = low > 0 ? ends[low - 1] : nil
        if low == ends.count { ends.append(place) } else { ends[low] = place }
    }
    var result: [Int] = []
    var place = ends.last
    while let current = place {
        result.append(numbers[current])
        place = before[current]
    }
    return result.reversed()
}
