import Foundation

/// Random numbers that a seed repeats exactly (SplitMix64), for property tests.
///
/// ```swift
/// var random = SeededGenerator.forTest()
/// let size = Int.random(in: 0..<100, using: &random)
/// ```
package struct SeededGenerator: RandomNumberGenerator, Sendable {
    /// What the sequence started from.
    package let seed: UInt64
    private var state: UInt64

    package init(seed: UInt64) {
        self.seed = seed
        state = seed
    }

    package mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    /// A generator with a fresh seed, which is printed; the environment's `SKYROW_TEST_SEED` repeats a printed one.
    package static func forTest(_ test: String = #function) -> SeededGenerator {
        let given = ProcessInfo.processInfo.environment["SKYROW_TEST_SEED"].flatMap { UInt64($0) }
        let seed = given ?? UInt64.random(in: 0...UInt64.max)
        print("\(test): repeat with SKYROW_TEST_SEED=\(seed)")
        return SeededGenerator(seed: seed)
    }
}
