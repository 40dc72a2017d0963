/// How many values fell into each of some fixed ranges; counted under a lock of its holder's.
package struct Histogram: Hashable, Sendable {
    /// The ends of the ranges, which belong to them; values beyond the last have a range of their own.
    package let bounds: [Int64]
    /// How many values each range has: one more than there are bounds.
    package private(set) var counts: [Int]
    /// All values together.
    package private(set) var sum: Int64 = 0

    package init(bounds: [Int64]) {
        self.bounds = bounds
        counts = Array(repeating: 0, count: bounds.count + 1)
    }

    package mutating func record(_ value: Int64) {
        counts[Histogram.range(of: value, in: bounds)] += 1
        sum &+= value
    }

    package var count: Int { counts.reduce(0, +) }

    /// The number of the range that a value falls into.
    ///
    /// Most values are small ones, and a look at each bound in order is cheaper for them than halving would be.
    package static func range(of value: Int64, in bounds: [Int64]) -> Int {
        var range = 0
        while range < bounds.count, bounds[range] < value { range += 1 }
        return range
    }
}

extension Histogram {
    /// Nanoseconds, from a tenth of a millisecond to ten seconds.
    package static let durations = Histogram(
        bounds: [
            100_000, 250_000, 500_000,
            1_000_000, 2_500_000, 5_000_000,
            10_000_000, 25_000_000, 50_000_000,
            100_000_000, 250_000_000, 500_000_000,
            1_000_000_000, 2_500_000_000, 5_000_000_000, 10_000_000_000,
        ]
    )

    /// How many statements travel together.
    package static let batchSizes = Histogram(bounds: [1, 2, 4, 8, 16, 32, 64])
}
