import NIOCore

/// Whether a body arrives fast enough: a number of bytes more in each window of time.
///
/// An average since the head would let a client stop after a burst.
struct BodyPace: Hashable {
    private var windowEnd: NIODeadline
    private var received = 0

    init(from start: NIODeadline, _ limits: HTTPLimits) {
        windowEnd = start + limits.bodyWindow
    }

    /// Judges the window that has ended, if one has, and begins the next.
    ///
    /// - Parameters:
    ///   - bytes: of the body, so far.
    ///   - isWaiting: whether the client waits for the server, which has not read on or not sent `100 Continue`.
    mutating func isTooSlow(bytes: Int, isWaiting: Bool, now: NIODeadline, _ limits: HTTPLimits) -> Bool {
        guard now >= windowEnd || isWaiting else { return false }
        let gained = bytes - received
        received = bytes
        windowEnd = now + limits.bodyWindow
        return !isWaiting && gained < limits.bodyProgress
    }
}
