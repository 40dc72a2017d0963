import NIOCore

/// What a client has left to take of the bytes that were written to its connection, and since when it takes nothing.
struct Stall {
    let bytes: Int
    private let since: NIODeadline

    init(of channel: any Channel) {
        bytes = (try? channel.syncOptions?.getOption(.bufferedWritableBytes)) ?? 0
        since = .now()
    }

    /// Whether the client has taken nothing for so long; when it has taken some, the clock starts anew.
    mutating func isOver(now: NIODeadline, patience: TimeAmount, on channel: any Channel) -> Bool {
        guard now >= since + patience else { return false }
        let rest = Stall(of: channel)
        guard rest.bytes < bytes else { return true }
        self = rest
        return false
    }
}
