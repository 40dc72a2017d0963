/// The limit on the number of writes in the next group commit.
///
/// When a statement fails, those before it have run and those after it have not. The next group consists of the former only, so
/// that no write runs more than twice because of others' failures. Only slowness shrinks groups for longer: a group that took too
/// long halves the limit, and every group of any size that ends well in time doubles it.
struct GroupCommitLimit: Sendable {
    let maximum: Int
    private(set) var current: Int
    /// How many statements ran before the failed one.
    private var proven: Int?

    init(maximum: Int) {
        self.maximum = max(1, maximum)
        current = self.maximum
    }

    /// The limit for the next group.
    var next: Int { min(proven ?? current, current) }

    mutating func groupBegan() {
        proven = nil
    }

    /// - Parameter position: The index of the statement that failed; nil when the commit itself failed.
    mutating func groupFailed(at position: Int?) {
        guard let position else { return halve() }
        proven = position > 0 ? position : nil
    }

    mutating func groupTookTooLong(at position: Int?) {
        halve()
        if let position, position > 0 { proven = position }
    }

    /// - Parameter isQuick: Whether a group of twice the size would have ended in time, too.
    mutating func groupSucceeded(isQuick: Bool) {
        if isQuick { current = min(maximum, current * 2) }
    }

    private mutating func halve() {
        current = max(1, current / 2)
    }
}
