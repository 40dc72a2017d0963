import Testing

@testable import SkyrowServer

@Suite struct TrimDecisionTests {
    private static let megabyte: Int64 = 1 << 20

    /// Readings in their order, whether each leads to an attempt, and what the attempt leaves.
    @Test(
        arguments: [
            [(40, nil), (64, nil), (65, 45), (50, nil)],
            [(300, 200), (205, nil), (209, 90), (90, nil), (99, 90)],
            // What was in use is freed and used again elsewhere.
            [(300, 200), (150, nil), (159, 80)],
            [(300, 200), (200, nil), (200, nil)],
        ] as [[(Int64, Int64?)]]
    )
    func memoryIsReturnedWhenItGrew(_ readings: [(resident: Int64, rest: Int64?)]) {
        var decision = TrimDecision()
        for (index, reading) in readings.enumerated() {
            let trims = decision.trims(at: reading.resident * Self.megabyte)
            #expect(trims == (reading.rest != nil), "reading \(index) of \(readings)")
            if let rest = reading.rest { decision.trimmed(to: rest * Self.megabyte) }
        }
    }
}
