/// How long to wait before the next attempt to connect: doubling up to two seconds, and never the same for two
/// connections, so that a server that comes back is not met by all of them at once.
struct ReconnectBackoff: Sendable {
    static let first: Duration = .milliseconds(50)
    static let longest: Duration = .seconds(2)

    private let longest: Duration
    private(set) var failures = 0

    init(longest: Duration = Self.longest) {
        self.longest = longest
    }

    /// The wait after one more failure: between half of the current limit and all of it.
    mutating func next(using random: inout some RandomNumberGenerator) -> Duration {
        let limit = min(Self.first * (1 << min(failures, 16)), longest)
        failures += 1
        return limit * Double.random(in: 0.5...1, using: &random)
    }

    mutating func reset() {
        failures = 0
    }
}
