import NIOCore

/// What an event loop looks at a few times a second, so that its deadlines are kept.
protocol TimedConnection: AnyObject {
    func checkDeadlines(now: NIODeadline)
}
