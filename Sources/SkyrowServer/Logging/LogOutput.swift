import Dispatch
import Glibc
import Synchronization

/// The output of log lines, which are collected for up to 20 ms and written together.
///
/// A system call per line cost a fetch a fifth of its processor time. Warnings and worse are written at once, with all
/// earlier lines, so a crash loses only some lines about requests.
final class LogOutput: Sendable {
    private struct State {
        var lines: [UInt8] = []
        var dropped = 0
        /// The total; the count above restarts with each message about dropped lines.
        var allDropped = 0
        var isScheduled = false
    }

    /// Upper bound on pending bytes. Further lines are dropped and counted, so a stalled terminal never blocks a request.
    private static let capacity = 1 << 20
    private static let delay = DispatchTimeInterval.milliseconds(20)

    private let descriptor: Int32
    private let state = Mutex(State())
    /// The serial queue of all writes, which keeps the lines in order.
    private let queue = DispatchQueue(label: "log", qos: .utility)

    init(descriptor: Int32) {
        self.descriptor = descriptor
    }

    /// Adds a line, given without its line feed.
    func append(_ line: UnsafeRawBufferPointer, isUrgent: Bool) {
        let begins = state.withLock { state in
            guard state.lines.count + line.count < Self.capacity else {
                state.dropped += 1
                state.allDropped += 1
                return false
            }
            state.lines.append(contentsOf: line)
            state.lines.append(UInt8(ascii: "\n"))
            if isUrgent || state.isScheduled { return false }
            state.isScheduled = true
            return true
        }
        if isUrgent {
            flush()
        } else if begins {
            queue.asyncAfter(deadline: .now() + Self.delay) { self.write() }
        }
    }

    /// The number of lines dropped so far.
    var droppedLines: Int { state.withLock(\.allDropped) }

    /// Writes all lines added so far.
    func flush() {
        queue.sync { write() }
    }

    private func write() {
        var (lines, dropped) = state.withLock { state in
            let taken = (state.lines, state.dropped)
            state.lines = []
            state.dropped = 0
            state.isScheduled = false
            return taken
        }
        if dropped > 0 { lines += Array("… \(dropped) log lines were dropped because they were not read\n".utf8) }
        lines.withUnsafeBytes { bytes in
            var rest = bytes[...]
            while !rest.isEmpty {
                let written = Glibc.write(descriptor, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
                if written > 0 {
                    rest = rest.dropFirst(written)
                } else if errno != EINTR {
                    return
                }
            }
        }
    }
}
