/// Whether a connection holds back a read of its channel until it takes more input.
struct HeldRead {
    private(set) var isHeldBack = false

    /// Returns whether to read now.
    mutating func begins(unless isFull: Bool) -> Bool {
        if isFull { isHeldBack = true }
        return !isFull
    }

    /// Returns whether to make up for a read that was held back.
    mutating func resumes(unless isFull: Bool) -> Bool {
        guard isHeldBack, !isFull else { return false }
        isHeldBack = false
        return true
    }
}
