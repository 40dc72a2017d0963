/// How many writes may share the next commit: fewer after a group that failed, since its work was done for nothing,
/// and more again after each that went well.
struct SharedGroupLimit: Sendable {
    let maximum: Int
    private(set) var current: Int

    init(maximum: Int) {
        self.maximum = max(1, maximum)
        current = self.maximum
    }

    mutating func groupFailed() {
        current = max(1, current / 2)
    }

    mutating func groupSucceeded() {
        current = min(maximum, current * 2)
    }
}
