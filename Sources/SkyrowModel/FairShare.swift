/// How much of a common budget each holder has.
///
/// A holder gets no more than half of what the others leave. So one alone has half of the budget at most, and whatever
/// the others have, there is always something left for the next.
struct FairShare<Holder: Hashable & Sendable>: Sendable {
    let limit: Int
    private(set) var used = 0
    /// The most that was ever used.
    private(set) var largest = 0
    private var holdings: [Holder: Int] = [:]

    init(limit: Int) {
        self.limit = limit
    }

    /// Takes a part for a holder, as much as there is up to `most`; nil when there is less than `least`.
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
