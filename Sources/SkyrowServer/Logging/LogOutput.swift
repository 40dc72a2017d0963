import Dispatch
import Glibc
import Synchronization

/// Where log lines go: collected for up to 20 ms, then written together.
///
/// A line of its own system call cost a fetch a fifth of its processor time. Warnings and worse are written at once,
/// with all that came before them, so that a crash takes at most some lines about requests along.
final class LogOutput: Sendable {
    private struct State {
        var lines: [UInt8] = []
        var dropped = 0
        /// Those of all times, while the count above begins anew with each message about it.
        var allDropped = 0
        var isScheduled = false
    }

    /// Waiting lines beyond this many bytes are dropped and counted: a terminal that stands still stops no request.
    private static let capacity = 1 << 20
    private static let delay = DispatchTimeInterval.milliseconds(20)

    private let descriptor: Int32
    private let state = Mutex(State())
    /// Everything is written on it, so lines keep their order.
    private let queue = DispatchQueue(label: "log", qos: .utility)

    init(descriptor: Int32) {
        self.descriptor = descriptor
    }

    /// Takes a line without its line feed.
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

    /// How many lines were dropped so far.
    var droppedLines: Int { state.withLock(\.allDropped) }

    /// Returns when all lines so far are written.
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
        if dropped > 0 { lines += Array("… \(dropped) log lines were dropped, because they were not read\n".utf8) }
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
