import Dispatch
import Glibc
import Logging
import SkyrowSystem
import Synchronization

/// Writes spans to a file, one OTLP document a line, from a queue of its own.
///
/// When the file has grown to its limit it becomes `<path>.1`, in the place of the one before, and a new one begins: what
/// anybody can make us write, never takes more than twice the limit of the disk.
final class TraceFile: Sendable {
    private let path: String
    private let limit: Int
    private let logger: Logger
    private let version: String
    private let buffer: Mutex<SpanBuffer>
    /// The file is open on it alone, and spans are written in their order.
    private let queue = DispatchQueue(label: "trace", qos: .utility)
    private let file: Mutex<OpenFile?>

    private struct OpenFile: Sendable {
        var descriptor: FileDescriptor
        var size: Int
    }

    private static let delay = DispatchTimeInterval.milliseconds(500)
    /// The most spans of one line.
    private static let lineSpans = 512

    /// - Parameters:
    ///   - limit: at which size, in bytes, the next file begins.
    ///   - capacity: how many spans may wait.
    ///
    /// Throws ``ToolError`` when the file cannot be opened.
    init(path: String, limit: Int, capacity: Int = 16_384, version: String, logger: Logger) throws(ToolError) {
        self.path = path
        self.limit = limit
        self.version = version
        self.logger = logger
        buffer = Mutex(SpanBuffer(capacity: capacity))
        file = Mutex(try TraceFile.open(path))
    }

    /// Spans taken so far, and those dropped.
    var counts: (accepted: Int, dropped: Int) { buffer.withLock { ($0.accepted, $0.dropped) } }

    func append(_ span: FinishedSpan) {
        switch buffer.withLock({ $0.append(span) }) {
        case .nothing: break
        case .writeSoon: queue.asyncAfter(deadline: .now() + Self.delay) { self.write() }
        case .writeNow: queue.async { self.write() }
        }
    }

    /// Returns when all spans so far are written.
    func flush() {
        queue.sync { write() }
    }

    private func write() {
        var spans = buffer.withLock { $0.takeAll() }[...]
        while !spans.isEmpty {
            let part = spans.prefix(Self.lineSpans)
            spans = spans.dropFirst(part.count)
            write(OTLPText.document(Array(part), version: version) + [UInt8(ascii: "\n")], count: part.count)
        }
    }

    private func write(_ line: [UInt8], count: Int) {
        do throws(ToolError) {
            try file.withLock { file throws(ToolError) in try append(line, to: &file) }
        } catch {
            buffer.withLock { $0.lose(count) }
            logger.warning("Spans could not be written", metadata: ["error": "\(error)", "spans": "\(count)"])
        }
    }

    private func append(_ line: [UInt8], to file: inout OpenFile?) throws(ToolError) {
        if let size = file?.size, size > 0, size + line.count > limit {
            file = nil
            guard rename(path, path + ".1") == 0 else { throw .system("Cannot rename \(path)") }
        }
        var open: OpenFile
        if let file { open = file } else { open = try TraceFile.open(path) }
        do throws(ToolError) {
            try open.descriptor.write(line)
        } catch {
            // Half a line would spoil the next.
            ftruncate(open.descriptor.number, off_t(open.size))
            throw error
        }
        open.size += line.count
        file = open
    }

    private static func open(_ path: String) throws(ToolError) -> OpenFile {
        // Not into a pipe or a file that another user has put there, under one name or two.
        let descriptor = try FileDescriptor(opening: path, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK)
        var status = stat()
        fstat(descriptor.number, &status)
        let isOwnFile = status.st_mode & S_IFMT == S_IFREG && status.st_uid == geteuid() && status.st_nlink == 1
        guard isOwnFile || status.st_mode & S_IFMT == S_IFCHR else {
            throw .failure("\(path) is not an ordinary file of the user who runs the service: give another trace-file.")
        }
        return OpenFile(descriptor: descriptor, size: Int(status.st_size))
    }
}
