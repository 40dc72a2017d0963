import Testing

@testable import SkyrowSystem

@Suite struct LatenessTests {
    private static func drawn(seed: UInt64) -> [Duration] {
        var lateness = Lateness(seed: seed)
        return (0..<20_000).map { _ in lateness.next() }
    }

    @Test func aSeedRepeatsIt() {
        #expect(Self.drawn(seed: 7) == Self.drawn(seed: 7))
        #expect(Self.drawn(seed: 7) != Self.drawn(seed: 8))
    }

    /// A run of the tests may take twice its time, not more.
    @Test(arguments: [0, 1, 2, .max] as [UInt64]) func mostIsOnTimeAndSomeIsVeryLate(seed: UInt64) {
        let drawn = Self.drawn(seed: seed)
        let parts = (
            onTime: drawn.count { $0 == .zero },
            late: drawn.count { (Duration.milliseconds(1)...(.milliseconds(5))).contains($0) },
            veryLate: drawn.count { (Duration.milliseconds(50)...(.milliseconds(300))).contains($0) }
        )
        #expect(parts.onTime + parts.late + parts.veryLate == drawn.count)
        #expect(parts.onTime > drawn.count * 8 / 10)
        #expect(parts.late > drawn.count / 10)
        #expect((drawn.count / 100...drawn.count / 33).contains(parts.veryLate))
    }
}
