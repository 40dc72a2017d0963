import NIOCore

/// A connection whose deadlines its event loop checks a few times a second.
protocol TimedConnection: AnyObject {
    func checkDeadlines(now: NIODeadline)
}
