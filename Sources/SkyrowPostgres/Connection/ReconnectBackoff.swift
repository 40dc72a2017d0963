/// The pause before the next attempt to connect. It doubles up to two seconds and is random, so that connections do not all hit a
/// restarted server at once.
struct ReconnectBackoff: Sendable {
    static let first: Duration = .milliseconds(50)
    static let longest: Duration = .seconds(2)

    private let longest: Duration
    private(set) var failures = 0

    init(longest: Duration = Self.longest) {
        self.longest = longest
    }

    /// Returns the pause after another failure: between half of the current limit and all of it.
    mutating func next(using random: inout some RandomNumberGenerator) -> Duration {
        let limit = min(Self.first * (1 << min(failures, 16)), longest)
        failures += 1
        return limit * Double.random(in: 0.5...1, using: &random)
    }

    mutating func reset() {
        failures = 0
    }
}
