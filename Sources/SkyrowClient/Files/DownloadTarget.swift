import Foundation
import SkyrowModel
import Synchronization

/// Takes the bytes of a download.
protocol DownloadTarget: Sendable {
    func append(_ bytes: Data) throws(ClientError)
    /// Removes all bytes.
    func empty() throws(ClientError)
}

/// The bytes of a download in memory.
final class MemoryTarget: DownloadTarget {
    private let bytes = Mutex(Data())
    private let limit: Int

    init(limit: Int) {
        self.limit = limit
    }

    var data: Data { bytes.withLock { $0 } }

    func append(_ more: Data) throws(ClientError) {
        let fits = bytes.withLock { bytes in
            guard bytes.count + more.count <= limit else { return false }
            bytes.append(more)
            return true
        }
        if !fits { throw ClientError(.tooLarge, "The file has more than \(limit) bytes.") }
    }

    func empty() {
        bytes.withLock { $0.removeAll() }
    }
}

/// The bytes of a download in a file beside its destination, `<name of the asset>.part`, where a later download finds them.
final class PartialFile: DownloadTarget {
    /// The number of bytes of earlier downloads.
    let received: Int64
    private let handle: FileHandle
    private let url: URL

    /// Throws `ClientError` with the code `localFile` when the directory cannot be written to, or another download of the same
    /// file writes to it.
    init(of name: AssetName, for destination: URL) throws(ClientError) {
        url = destination.deletingLastPathComponent().appendingPathComponent("\(name).part")
        let descriptor = open(url.path, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw .localFile("The file cannot be written.", POSIXError.last) }
        handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            throw .localFile("The file is being downloaded already.", POSIXError.last)
        }
        received = try handle.performing { Int64(try $0.seekToEnd()) }
    }

    func append(_ bytes: Data) throws(ClientError) {
        try handle.performing { try $0.write(contentsOf: bytes) }
    }

    func empty() throws(ClientError) {
        try handle.performing { try $0.truncate(atOffset: 0) }
    }

    /// Gives the file its name, in place of a file that has it.
    func move(to destination: URL) throws(ClientError) {
        guard rename(url.path, destination.path) == 0 else {
            throw .localFile("The file cannot be written.", POSIXError.last)
        }
    }

    /// Ends the writing, and deletes a file without bytes to continue from; another download can begin.
    func close() {
        if (try? handle.seekToEnd()) == 0 { unlink(url.path) }
        try? handle.close()
    }
}

extension FileHandle {
    fileprivate func performing<Value>(_ body: (FileHandle) throws -> Value) throws(ClientError) -> Value {
        do {
            return try body(self)
        } catch {
            throw .localFile("The file cannot be written.", error)
        }
    }
}

extension POSIXError {
    /// The error of the last call of the system.
    fileprivate static var last: POSIXError { POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
}
