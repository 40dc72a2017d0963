import CGlibc
import Glibc
import SkyrowActions
import SkyrowModel
import SkyrowSystem
import Synchronization

/// A file in `incoming`. A new one is removed with its last reference, unless it was kept or suspended; one that was suspended before
/// stays, since its first bytes are acknowledged.
final class LocalIncomingFile: IncomingFile {
    /// The name in `incoming`.
    let id: String
    private let storage: LocalFileStorage
    /// nil after the file was kept, suspended or discarded.
    ///
    /// The threads of files hold the lock while they wait for the disk.
    private let state: Mutex<State?>

    private struct State {
        let file: FileDescriptor
        /// nil for a file that was suspended.
        var digester: FileDigester?
        /// The length to which a file that was suspended is cut before anything else; nil afterwards, and for a new file.
        private var length: Int64?
        /// The bytes that the system may not have begun to write to the disk.
        private var waiting = 0

        /// The number of bytes after which the system begins to write them to the disk, so that little is left for fsync(2).
        private static let maximumWaiting = 8 << 20

        init(file: FileDescriptor, digester: FileDigester?, length: Int64? = nil) {
            self.file = file
            self.digester = digester
            self.length = length
        }

        mutating func cut() throws(FileFault) {
            guard let length else { return }
            guard ftruncate(file.number, off_t(length)) == 0, lseek(file.number, 0, SEEK_END) == length else {
                throw .system("Cannot continue an incoming file")
            }
            self.length = nil
        }

        mutating func append(_ part: [UInt8]) throws(FileFault) {
            try file.write(part)
            digester?.update(part)
            waiting += part.count
            guard waiting >= State.maximumWaiting else { return }
            // A fault shows in fsync(2), too.
            sync_file_range(file.number, 0, 0, sync_file_range_write)
            waiting = 0
        }
    }

    init(_ file: FileDescriptor, id: String, in storage: LocalFileStorage, digester: FileDigester?) {
        state = Mutex(State(file: file, digester: digester))
        self.id = id
        self.storage = storage
    }

    /// - Parameter length: How many bytes of the file are known to be durable.
    init(resuming file: FileDescriptor, at length: Int64, id: String, in storage: LocalFileStorage) {
        state = Mutex(State(file: file, digester: nil, length: length))
        self.id = id
        self.storage = storage
    }

    deinit {
        guard state.withLock({ $0?.digester != nil }) else { return }
        FileThreads.writing.start { [storage, id] in storage.discard(id) }
    }

    func append(_ part: [UInt8]) async throws(FileFault) {
        try await whileOpen { (state: inout State) throws(FileFault) in try state.append(part) }
    }

    func digests() async throws(FileFault) -> FileDigests {
        try await whileOpen { (state: inout State) throws(FileFault) in
            if let digester = state.digester { return digester.digests }
            return try FileDigester(reading: state.file).digests
        }
    }

    func first(_ count: Int) async throws(FileFault) -> [UInt8] {
        try await whileOpen { (state: inout State) throws(FileFault) in
            try state.file.bytes(at: 0, upTo: count)
        }
    }

    /// Returns the file with the bytes so far, for reading at offsets.
    func contents() async throws(FileFault) -> (file: FileDescriptor, size: Int64) {
        try await whileOpen { (state: inout State) throws(FileFault) in
            var status = stat()
            guard fstat(state.file.number, &status) == 0 else { throw .system("Cannot inspect an incoming file") }
            return (state.file, Int64(status.st_size))
        }
    }

    func keep(as name: AssetName) async throws(FileFault) {
        try await whileOpen(ends: true) { [storage, id] (state: inout State) throws(FileFault) in
            try state.file.synchronize()
            try storage.place(id, as: name)
        }
    }

    func suspend() async throws(FileFault) {
        try await whileOpen(ends: true) { [storage] (state: inout State) throws(FileFault) in
            try state.file.synchronize()
            try storage.synchronizeIncoming()
        }
    }

    func discard() async {
        try? await whileOpen(ends: true) { [storage, id] _ in storage.discard(id) }
    }

    /// Runs work on a thread of files; throws if the file was kept, suspended or discarded before.
    ///
    /// - Parameter ends: Whether the file is closed when the work has succeeded.
    private func whileOpen<Value: Sendable>(
        ends: Bool = false,
        _ work: @escaping @Sendable (inout State) throws(FileFault) -> Value
    ) async throws(FileFault) -> Value {
        try await FileThreads.writing.run { [self] () throws(FileFault) in
            try state.withLock { state throws(FileFault) in
                guard var open = state else { throw .unavailable("The incoming file \(id) is closed.") }
                try open.cut()
                let value = try work(&open)
                state = ends ? nil : open
                return value
            }
        }
    }
}

extension FileDigester {
    /// Bytes of a file that are in memory at a time.
    private static let partLength = 256 * 1024

    /// Reads a whole file; may wait for the disk.
    fileprivate init(reading file: FileDescriptor) throws(FileFault) {
        self.init(hashesMD5: false)
        var offset: Int64 = 0
        while case let part = try file.bytes(at: offset, upTo: Self.partLength), !part.isEmpty {
            update(part)
            offset += Int64(part.count)
        }
    }
}

// Each of these may wait for the disk.

extension FileDescriptor {
    /// Writes all of the bytes.
    fileprivate func write(_ bytes: [UInt8]) throws(FileFault) {
        var written = 0
        while written < bytes.count {
            let count = bytes[written...].withUnsafeBytes { Glibc.write(number, $0.baseAddress, $0.count) }
            if count < 0 {
                guard errno == EINTR else { throw .system("Cannot write an incoming file") }
            } else {
                written += count
            }
        }
    }

    /// Returns the bytes from an offset on; fewer than `count` only at the end of the file.
    func bytes(at offset: Int64, upTo count: Int) throws(FileFault) -> [UInt8] {
        var fault: FileFault?
        let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
            while initialized < count {
                let start = buffer.baseAddress.map { $0 + initialized }
                let received = pread(number, start, count - initialized, off_t(offset) + initialized)
                if received < 0 {
                    guard errno == EINTR else {
                        fault = .system("Cannot read a file")
                        return
                    }
                } else if received == 0 {
                    return
                } else {
                    initialized += received
                }
            }
        }
        if let fault { throw fault }
        return bytes
    }

    func synchronize() throws(FileFault) {
        guard uninterrupted({ fsync(number) }) == 0 else { throw .system("Cannot write an incoming file") }
    }
}
