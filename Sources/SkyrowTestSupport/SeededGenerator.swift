import Foundation

/// A reproducible random number generator (SplitMix64) for property tests.
///
/// ```swift
/// var random = SeededGenerator.forTest()
/// let size = Int.random(in: 0..<100, using: &random)
/// ```
package struct SeededGenerator: RandomNumberGenerator, Sendable {
    /// The seed of the sequence.
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

    /// The seed of this run: the environment's `SKYROW_TEST_SEED`, or else a constant. `scripts/test` prints it when a
    /// test fails, and `make fuzz` sets random ones.
    package static let seedOfRun: UInt64 = {
        guard let text = ProcessInfo.processInfo.environment["SKYROW_TEST_SEED"] else { return 1 }
        guard let seed = UInt64(text) else {
            fatalError("SKYROW_TEST_SEED must be a whole number from 0 to \(UInt64.max); it is '\(text)'.")
        }
        return seed
    }()

    /// Returns a generator with the seed of this run.
    package static func forTest(_ test: String = #function) -> SeededGenerator {
        if seedOfRun != 1 { print("\(test): repeat with SKYROW_TEST_SEED=\(seedOfRun)") }
        return SeededGenerator(seed: seedOfRun)
    }
}

/// Returns the number of random cases of a test: `count` for each change, multiplied by `SKYROW_TEST_SCALE` in `make
/// test-all` and `make fuzz`.
///
/// ```swift
/// for _ in 0..<seededCases(100) { … }
/// ```
package func seededCases(_ count: Int) -> Int { count * scale }

private let scale: Int = {
    guard let text = ProcessInfo.processInfo.environment["SKYROW_TEST_SCALE"] else { return 1 }
    guard let scale = Int(text), (1...1000).contains(scale) else {
        fatalError("SKYROW_TEST_SCALE must be a whole number from 1 to 1000; it is '\(text)'.")
    }
    return scale
}()
