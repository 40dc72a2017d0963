import NIOCore

/// Whether a body arrives fast enough: a minimum of bytes in each time window.
///
/// An average since the head would let a client stop after a burst.
struct BodyPace: Hashable {
    private var windowEnd: NIODeadline
    private var received = 0

    init(from start: NIODeadline, _ limits: HTTPLimits) {
        windowEnd = start + limits.bodyWindow
    }

    /// Judges the current window if it has ended, and begins the next one.
    ///
    /// - Parameters:
    ///   - bytes: The bytes of the body so far.
    ///   - isWaiting: Whether the client waits for the server, which has suspended reading or not sent `100 Continue`.
    mutating func isTooSlow(bytes: Int, isWaiting: Bool, now: NIODeadline, _ limits: HTTPLimits) -> Bool {
        guard now >= windowEnd || isWaiting else { return false }
        let gained = bytes - received
        received = bytes
        windowEnd = now + limits.bodyWindow
        return !isWaiting && gained < limits.bodyProgress
    }
}
