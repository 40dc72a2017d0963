import NIOCore

/// The bytes that a client has yet to read of its connection, and since when it has read nothing.
struct Stall {
    let bytes: Int
    private let since: NIODeadline

    init(of channel: any Channel) {
        bytes = (try? channel.syncOptions?.getOption(.bufferedWritableBytes)) ?? 0
        since = .now()
    }

    /// Whether the client has read nothing for that long; when it has read some, the timer restarts.
    mutating func isOver(now: NIODeadline, patience: TimeAmount, on channel: any Channel) -> Bool {
        guard now >= since + patience else { return false }
        let rest = Stall(of: channel)
        guard rest.bytes < bytes else { return true }
        self = rest
        return false
    }
}
