internal import Glibc
internal import Logging

/// A pipe by which any thread wakes one that polls a socket.
final class WakePipe: Sendable {
    private let ends: [Int32]

    init(logger: Logger) {
        var ends: [Int32] = [-1, -1]
        if pipe(&ends) != 0 { logger.error("A pipe could not be created", metadata: ["errno": "\(errno)"]) }
        for end in ends {
            _ = fcntl(end, F_SETFD, FD_CLOEXEC)
            _ = fcntl(end, F_SETFL, O_NONBLOCK)
        }
        self.ends = ends
    }

    deinit {
        for end in ends { Glibc.close(end) }
    }

    func wake() {
        // A full pipe wakes the thread as well as one more byte.
        var byte: UInt8 = 1
        _ = write(ends[1], &byte, 1)
    }

    /// Waits until a socket is ready for one of `events`, the pipe is woken or the
    /// deadline passes; returns whether the socket is ready.
    func wait(for socket: Int32, events: Int32, until deadline: MonotonicTime) -> Bool {
        let milliseconds: Int32
        if deadline == .distantFuture {
            milliseconds = -1
        } else {
            // Rounded up: a wait that ends early would be repeated at once.
            let rest = max(0, deadline.nanoseconds - MonotonicTime.now.nanoseconds)
            milliseconds = Int32(min((rest + 999_999) / 1_000_000, 60_000))
        }
        var entries = [
            pollfd(fd: socket, events: Int16(events), revents: 0),
            pollfd(fd: ends[0], events: Int16(POLLIN), revents: 0),
        ]
        guard poll(&entries, 2, milliseconds) > 0 else { return false }
        if entries[1].revents != 0 { drain() }
        return entries[0].revents != 0
    }

    /// Sleeps until woken, or until the deadline passes.
    func sleep(until deadline: MonotonicTime) {
        _ = wait(for: -1, events: 0, until: deadline)
    }

    private func drain() {
        var bytes = [UInt8](repeating: 0, count: 64)
        while read(ends[0], &bytes, bytes.count) > 0 {}
    }
}
