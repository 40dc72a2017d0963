/// What a query that is kept current found at last, as far as the next result is compared with it.
///
/// ```swift
/// var shown = WatchedResult()
/// let changes = shown.replace(with: answer)  // what a list that shows the former result has to change
/// ```
struct WatchedResult: Sendable {
    /// One record: its id, and a hash of all that is sent of it.
    struct Entry: Hashable, Sendable {
        let id: String
        let digest: Int
    }

    /// What is sent of a record: behind all that leave, those that come, change or move, in the order of their places.
    enum Change: Hashable, Sendable {
        case left(id: String)
        case entered(place: Int)
        /// It is another one, or at another place, or both.
        case updated(place: Int)
    }

    private(set) var entries: [Entry] = []
    /// Of how many records match, or of groups; nil where nothing of the kind was asked.
    private(set) var digest: Int?

    /// The bytes that ids take.
    var byteCount: Int { entries.reduce(0) { $0 + $1.id.utf8.count } }

    /// Takes the next result; returns what a list has to change that shows this one.
    ///
    /// A list that takes out all records that are named, and then puts those with a place at it, one after the other, is the next
    /// result. The fewest records are moved.
    mutating func replace(with next: [Entry], digest: Int?) -> (changes: [Change], isOther: Bool) {
        defer { (entries, self.digest) = (next, digest) }
        let former = Dictionary(
            entries.enumerated().map { ($1.id, (place: $0, digest: $1.digest)) },
            uniquingKeysWith: { first, _ in first }
        )
        let present = Set(next.map(\.id))
        var changes: [Change] = entries.filter { !present.contains($0.id) }.map { .left(id: $0.id) }
        let kept = next.compactMap { former[$0.id]?.place }
        let unmoved = Set(Self.longestAscent(kept))
        for (place, entry) in next.enumerated() {
            guard let known = former[entry.id] else {
                changes.append(.entered(place: place))
                continue
            }
            if known.digest != entry.digest || !unmoved.contains(known.place) { changes.append(.updated(place: place)) }
        }
        return (changes, self.digest != digest)
    }

    /// The longest part of distinct numbers that ascends.
    static func longestAscent(_ numbers: [Int]) -> [Int] {
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
}
