import Testing

@testable import SkyrowServer

@Suite struct TrimDecisionTests {
    /// Megabytes that are resident and free in the allocator, and what an attempt leaves of them.
    private typealias Row = (resident: Int64, free: Int64, rest: (resident: Int64, free: Int64)?)

    private static let growth: [[Row]] = [
        [(40, 0, nil), (64, 0, nil), (65, 0, (45, 0)), (50, 0, nil)],
        [(300, 0, (200, 0)), (205, 0, nil), (209, 0, (90, 0)), (90, 0, nil), (99, 0, (90, 0))],
        // What was in use is freed and used again elsewhere.
        [(300, 0, (200, 0)), (150, 0, nil), (159, 0, (80, 0))],
        [(300, 0, (200, 0)), (200, 0, nil), (200, 0, nil)],
    ]

    private static let release: [[Row]] = [
        // What was in use is free, and stays resident.
        [(300, 20, (200, 20)), (200, 36, nil), (200, 37, (120, 37)), (120, 37, nil)],
        // It is used again, and then free again.
        [(300, 50, (250, 50)), (250, 10, nil), (250, 26, nil), (250, 27, (240, 27))],
        // There is little to return.
        [(60, 50, nil), (64, 60, nil)],
    ]

    /// Readings in their order, whether each leads to an attempt, and what the attempt leaves.
    @Test(arguments: (growth + release).indices)
    func memoryIsReturnedWhenItGrewOrWasFreed(_ row: Int) {
        let readings = (Self.growth + Self.release)[row]
        var decision = TrimDecision()
        for (index, reading) in readings.enumerated() {
            let trims = decision.trims(at: Self.reading(reading.resident, reading.free))
            #expect(trims == (reading.rest != nil), "reading \(index) of \(readings)")
            if let rest = reading.rest { decision.trimmed(to: Self.reading(rest.resident, rest.free)) }
        }
    }

    private static func reading(_ resident: Int64, _ free: Int64) -> MemoryReading {
        MemoryReading(resident: resident << 20, free: free << 20)
    }
}
