import Glibc
import NIOCore
import NIOPosix
package import SkyrowSystem

/// A file, or a range of it, as the body of a response.
///
/// Over HTTP/1.1 without TLS the system sends it from its page cache (`sendfile`). Otherwise it is read in parts, on a thread
/// that may wait for the disk.
package struct ResponseFile: Sendable {
    private let file: OpenFile
    /// The bytes of the file that are sent.
    package private(set) var range: Range<Int>
    /// Called with the number of bytes that a part had, when it was handed to the connection.
    var onSend: (@Sendable (Int) -> Void)?

    /// Opens a regular file for reading; may wait for the disk.
    ///
    /// Throws `IOError` when it cannot be opened, is not a regular file, or is shorter than `range`.
    ///
    /// - Parameter range: The bytes to send; nil for all.
    package init(path: String, range: Range<Int>? = nil) throws {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { throw IOError(errnoCode: errno, reason: "open") }
        let file = SkyrowSystem.FileDescriptor(owning: descriptor)
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw IOError(errnoCode: errno, reason: "fstat") }
        guard status.st_mode & S_IFMT == S_IFREG else { throw IOError(errnoCode: EINVAL, reason: "not a regular file") }
        let range = range ?? 0..<Int(status.st_size)
        guard range.lowerBound >= 0, range.upperBound <= Int(status.st_size) else {
            throw IOError(errnoCode: ERANGE, reason: "the range exceeds the file")
        }
        self.init(file, range: range)
    }

    /// - Parameter range: The bytes to send, which the file must have.
    package init(_ file: SkyrowSystem.FileDescriptor, range: Range<Int>) {
        self.file = OpenFile(file)
        self.range = range
    }

    /// The same file, of which only these bytes are sent; the range is clamped to the present one.
    func sending(_ range: Range<Int>) -> ResponseFile {
        var file = self
        file.range = range.clamped(to: self.range)
        return file
    }

    /// The file as a stream.
    ///
    /// - Parameter bySystem: Whether the system may send it, which requires that nothing transforms the bytes.
    func stream(bySystem: Bool) -> ResponseStream {
        ResponseStream(length: range.count) { writer in
            var start = range.lowerBound
            while start < range.upperBound {
                let end = min(start + (bySystem ? ResponseFile.regionSize : ResponseFile.partSize), range.upperBound)
                if bySystem {
                    file.advise(end..<min(end + ResponseFile.regionSize, range.upperBound))
                    try await writer.write(file.region(start..<end))
                } else {
                    try await writer.write(file.read(start..<end))
                }
                onSend?(end - start)
                start = end
            }
        }
    }

    /// The sizes of one read and of one region that the system sends.
    private static let partSize = 64 * 1024
    private static let regionSize = 512 * 1024
}

/// A file as NIO sends it.
private final class OpenFile: Sendable {
    private let file: SkyrowSystem.FileDescriptor
    private let handle: NIOFileHandle

    init(_ file: SkyrowSystem.FileDescriptor) {
        self.file = file
        handle = NIOFileHandle(_deprecatedTakingOwnershipOfDescriptor: file.number)
    }

    deinit {
        // The descriptor closes itself with its last reference.
        _ = try? handle.takeDescriptorOwnership()
    }

    /// A region for the system to send; the file must stay open until it is sent.
    func region(_ range: Range<Int>) -> IOData {
        .fileRegion(FileRegion(fileHandle: handle, readerIndex: range.lowerBound, endIndex: range.upperBound))
    }

    /// Has the system read a region from the disk while another one is sent; waits for nothing.
    func advise(_ range: Range<Int>) {
        guard !range.isEmpty else { return }
        posix_fadvise(file.number, off_t(range.lowerBound), off_t(range.count), POSIX_FADV_WILLNEED)
    }

    func read(_ range: Range<Int>) async throws -> ByteBuffer {
        try await NIOThreadPool.singleton.runIfActive {
            try self.handle.withUnsafeFileDescriptor { descriptor in
                var buffer = ByteBuffer()
                while buffer.readableBytes < range.count {
                    let start = range.lowerBound + buffer.readableBytes
                    let wanted = range.count - buffer.readableBytes
                    let count = buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: wanted) { bytes in
                        max(0, pread(descriptor, bytes.baseAddress, min(wanted, bytes.count), start))
                    }
                    guard count > 0 else {
                        throw IOError(errnoCode: EIO, reason: "the file was truncated while it was sent")
                    }
                }
                return buffer
            }
        }
    }
}
