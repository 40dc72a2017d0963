/// The number of values in each of several fixed ranges; guarded by a lock of its owner.
package struct Histogram: Hashable, Sendable {
    /// The inclusive upper bounds of the ranges; larger values have their own range.
    package let bounds: [Int64]
    /// The number of values in each range: one more than there are bounds.
    package private(set) var counts: [Int]
    /// The sum of all values.
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

    /// Returns the index of the range of a value.
    ///
    /// Most values are small, and for them a linear search is cheaper than a binary search.
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

    /// The number of statements in a batch.
    package static let batchSizes = Histogram(bounds: [1, 2, 4, 8, 16, 32, 64])
}
