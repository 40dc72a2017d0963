/// The parts of a common budget, by holder.
///
/// A holder gets at most half of what the others leave. A single holder thus has at most half of the budget, and there is
/// always something left for the next one.
struct FairShare<Holder: Hashable & Sendable>: Sendable {
    let limit: Int
    private(set) var used = 0
    /// The largest amount that was ever in use.
    private(set) var largest = 0
    private var holdings: [Holder: Int] = [:]

    init(limit: Int) {
        self.limit = limit
    }

    /// Takes a part for a holder, as much as is left up to `most`; nil when less than `least` is left.
    mutating func take(atLeast least: Int, atMost most: Int, for holder: Holder) -> Int? {
        let own = holdings[holder, default: 0]
        let amount = min(most, (limit - (used - own)) / 2 - own)
        guard amount >= least else { return nil }
        holdings[holder] = own + amount
        used += amount
        largest = max(largest, used)
        return amount
    }

    mutating func giveBack(_ amount: Int, from holder: Holder) {
        let left = holdings[holder, default: 0] - amount
        holdings[holder] = left > 0 ? left : nil
        used -= amount
    }
}
