import SkyrowModel
import SkyrowProtocol

/// The times of calls on a scale with two steps for each power of two, from a microsecond to an hour.
struct CallHistogram: Sendable {
    private static let bucketCount = 64

    private var buckets = [UInt32](repeating: 0, count: bucketCount)
    private(set) var calls = 0
    private(set) var errors = 0

    mutating func note(_ time: Duration, failed: Bool) {
        calls += 1
        if failed { errors += 1 }
        let bucket = Self.bucket(of: time)
        if buckets[bucket] < .max { buckets[bucket] += 1 }
    }

    var counts: CallCounts {
        CallCounts(calls: calls, errors: errors, median: quantile(50), p99: quantile(99))
    }

    /// Returns the time in microseconds within which this percentage of the calls ended; nil without calls.
    private func quantile(_ percent: Int) -> Int? {
        let total = buckets.reduce(0) { $0 + Int($1) }
        guard total > 0 else { return nil }
        var left = (total * percent + 99) / 100
        for (bucket, count) in buckets.enumerated() {
            left -= Int(count)
            if left <= 0 { return Self.end(of: bucket) }
        }
        return Self.end(of: Self.bucketCount - 1)
    }

    static func bucket(of time: Duration) -> Int {
        let (seconds, attoseconds) = time.components
        let microseconds = max(1, min(seconds, 1 << 31) * 1_000_000 + attoseconds / 1_000_000_000_000)
        let power = Int64.bitWidth - 1 - microseconds.leadingZeroBitCount
        let half = power > 0 ? Int(microseconds >> (power - 1)) & 1 : 0
        return min(2 * power + half, bucketCount - 1)
    }

    /// The end of a bucket in microseconds.
    static func end(of bucket: Int) -> Int {
        let start = 1 << (bucket / 2)
        return bucket.isMultiple(of: 2) ? start + (start + 1) / 2 : 2 * start
    }
}

/// The calls of functions, hooks and handlers by this process since its start.
struct FunctionStatistics: Sendable {
    /// What is called, by server, kind and name.
    struct Key: Hashable, Sendable {
        enum Kind: Hashable, Sendable {
            case function, hook, handler
        }

        /// nil for the database.
        var server: String?
        var kind: Kind
        var name: String
    }

    /// Upper bound on the histograms, of some 300 bytes each; calls of further names are not counted.
    static let capacity = 2000

    private var histograms: [Key: CallHistogram] = [:]

    mutating func note(_ key: Key, _ time: Duration, failed: Bool) {
        guard histograms[key] != nil || histograms.count < Self.capacity else { return }
        histograms[key, default: CallHistogram()].note(time, failed: failed)
    }

    subscript(key: Key) -> CallCounts { histograms[key]?.counts ?? CallCounts() }
}

extension FunctionStatistics.Key {
    /// The key of a call of a function server; nil for events and providers.
    init?(_ call: FunctionCall) {
        switch call.content {
        case .function(let name, _): self.init(server: call.server, kind: .function, name: name.rawValue)
        case .hook(let description, _): self.init(server: call.server, kind: .hook, name: description.name)
        case .handler(let request): self.init(server: call.server, kind: .handler, name: request.name)
        case .event, .provider: return nil
        }
    }
}
