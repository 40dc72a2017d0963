/// How many writes may share the next commit.
///
/// When a statement fails, those before it have run and those behind it have not. The next group is therefore made of
/// the former alone, so that no write is run more than twice for the failures of others. Only time makes groups smaller
/// for longer: a group that took too long halves the limit, and every group that ends well in time, of whatever size,
/// doubles it.
struct GroupCommitLimit: Sendable {
    let maximum: Int
    private(set) var current: Int
    /// How many statements ran before the one that failed.
    private var proven: Int?

    init(maximum: Int) {
        self.maximum = max(1, maximum)
        current = self.maximum
    }

    /// The limit of the next group.
    var next: Int { min(proven ?? current, current) }

    mutating func groupBegan() {
        proven = nil
    }

    /// - Parameter position: The place of the statement that failed; nil when the commit itself failed.
    mutating func groupFailed(at position: Int?) {
        guard let position else { return halve() }
        proven = position > 0 ? position : nil
    }

    mutating func groupTookTooLong(at position: Int?) {
        halve()
        if let position, position > 0 { proven = position }
    }

    /// - Parameter isQuick: Whether twice as many would have ended in time, too.
    mutating func groupSucceeded(isQuick: Bool) {
        if isQuick { current = min(maximum, current * 2) }
    }

    private mutating func halve() {
        current = max(1, current / 2)
    }
}
