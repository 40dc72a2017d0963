/// A set of code points, as sorted ranges that neither overlap nor touch.
///
/// It may include surrogates, which no text contains, but not U+0000, which PostgreSQL does not store.
struct ScalarSet: Hashable, Sendable {
    private static let all: ClosedRange<UInt32> = 1...0x10FFFF

    private(set) var ranges: [ClosedRange<UInt32>]

    init(_ ranges: [ClosedRange<UInt32>]) {
        var merged: [ClosedRange<UInt32>] = []
        for range in ranges.sorted(by: { $0.lowerBound < $1.lowerBound }) {
            if let last = merged.last, range.lowerBound <= last.upperBound + 1 {
                merged[merged.count - 1] = last.lowerBound...max(last.upperBound, range.upperBound)
            } else {
                merged.append(range)
            }
        }
        self.ranges = merged
    }

    init(_ scalar: Unicode.Scalar) {
        ranges = [scalar.value...scalar.value]
    }

    static let any = ScalarSet([all])
    static let digits = ScalarSet([0x30...0x39])
    /// ASCII letters, digits and the underscore.
    static let words = ScalarSet([0x30...0x39, 0x41...0x5A, 0x5F...0x5F, 0x61...0x7A])
    /// The space, and tab to carriage return.
    static let blanks = ScalarSet([0x09...0x0D, 0x20...0x20])

    func contains(_ scalar: Unicode.Scalar) -> Bool {
        var low = 0
        var high = ranges.count
        while low < high {
            let middle = (low + high) / 2
            if ranges[middle].upperBound < scalar.value { low = middle + 1 } else { high = middle }
        }
        return low < ranges.count && ranges[low].lowerBound <= scalar.value
    }

    func union(_ other: ScalarSet) -> ScalarSet {
        ScalarSet(ranges + other.ranges)
    }

    /// The set with the lowercase forms of its code points, except that of İ, which is two code points.
    var folded: ScalarSet {
        let others = Self.foldings.filter { folding in ranges.contains { $0.contains(folding.from) } }
        return others.isEmpty ? self : ScalarSet(ranges + others.map { $0.to...$0.to })
    }

    private static let foldings: [(from: UInt32, to: UInt32)] = TextFolding.changes.compactMap { scalar, folded in
        let folded = folded.unicodeScalars
        return folded.count == 1 ? folded.first.map { (scalar.value, $0.value) } : nil
    }

    /// All other code points.
    var complement: ScalarSet {
        var rest: [ClosedRange<UInt32>] = []
        var next = Self.all.lowerBound
        for range in ranges {
            if range.lowerBound > next { rest.append(next...(range.lowerBound - 1)) }
            next = range.upperBound + 1
        }
        if next <= Self.all.upperBound { rest.append(next...Self.all.upperBound) }
        return ScalarSet(rest)
    }

    /// The only code point; nil if there are several.
    var single: Unicode.Scalar? {
        guard ranges.count == 1, ranges[0].count == 1 else { return nil }
        return Unicode.Scalar(ranges[0].lowerBound)
    }

    /// Whether no text can contain any of them.
    var isEmpty: Bool { ranges.allSatisfy { (0xD800...0xDFFF).contains($0.lowerBound) && $0.upperBound < 0xE000 } }

    /// Whether the set includes the last code point, in which case its complement has fewer ranges.
    var reachesEnd: Bool { ranges.last?.upperBound == Self.all.upperBound }

    /// The ranges without surrogates.
    var scalarRanges: [(first: Unicode.Scalar, last: Unicode.Scalar)] {
        ranges.compactMap { range in
            guard
                let first = Unicode.Scalar(range.lowerBound) ?? Unicode.Scalar(0xE000),
                let last = Unicode.Scalar(range.upperBound) ?? Unicode.Scalar(0xD7FF), first <= last
            else { return nil }
            return (first, last)
        }
    }
}
