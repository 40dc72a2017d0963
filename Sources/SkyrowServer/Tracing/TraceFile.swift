import Dispatch
import Glibc
import Logging
import SkyrowSystem
import Synchronization

/// Writes spans to a file, one OTLP document a line, on its own queue.
///
/// A file that reaches its size limit is renamed to `<path>.1`, replacing the previous one, and a new file starts.
/// Traces that clients cause therefore never take more than twice the limit.
final class TraceFile: Sendable {
    private let path: String
    private let limit: Int
    private let logger: Logger
    private let version: String
    private let buffer: Mutex<SpanBuffer>
    /// The serial queue that alone accesses the file, which keeps the spans in order.
    private let queue = DispatchQueue(label: "trace", qos: .utility)
    private let file: Mutex<OpenFile?>

    private struct OpenFile: Sendable {
        var descriptor: FileDescriptor
        var size: Int
    }

    private static let delay = DispatchTimeInterval.milliseconds(500)
    /// Upper bound on the spans of a line.
    private static let lineSpans = 512

    /// - Parameters:
    ///   - limit: The size in bytes at which a new file starts.
    ///   - capacity: Upper bound on pending spans.
    ///
    /// Throws ``ToolError`` if the file cannot be opened.
    init(path: String, limit: Int, capacity: Int = 16_384, version: String, logger: Logger) throws(ToolError) {
        self.path = path
        self.limit = limit
        self.version = version
        self.logger = logger
        buffer = Mutex(SpanBuffer(capacity: capacity))
        file = Mutex(try TraceFile.open(path))
    }

    /// The numbers of accepted and dropped spans.
    var counts: (accepted: Int, dropped: Int) { buffer.withLock { ($0.accepted, $0.dropped) } }

    func append(_ span: FinishedSpan) {
        switch buffer.withLock({ $0.append(span) }) {
        case .nothing: break
        case .writeSoon: queue.asyncAfter(deadline: .now() + Self.delay) { self.write() }
        case .writeNow: queue.async { self.write() }
        }
    }

    /// Writes all spans added so far.
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
            // A partial line would corrupt the next one.
            ftruncate(open.descriptor.number, off_t(open.size))
            throw error
        }
        open.size += line.count
        file = open
    }

    private static func open(_ path: String) throws(ToolError) -> OpenFile {
        // Pipes, and files placed or hard-linked there by another user, are refused.
        let descriptor = try FileDescriptor(opening: path, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK)
        var status = stat()
        fstat(descriptor.number, &status)
        let isOwnFile = status.st_mode & S_IFMT == S_IFREG && status.st_uid == geteuid() && status.st_nlink == 1
        guard isOwnFile || status.st_mode & S_IFMT == S_IFCHR else {
            throw .failure("\(path) is not a regular file of the user that runs the service: set another trace-file.")
        }
        return OpenFile(descriptor: descriptor, size: Int(status.st_size))
    }
}
