import Foundation
import SkyrowConcurrency
import SkyrowJSON
import SkyrowModel
import SkyrowSystem
import SkyrowTestSupport
import Synchronization

@testable import SkyrowActions

/// Files in memory, with the faults and pauses that a test wants.
final class MemoryFileStorage: FileStorage {
    /// What a fault prevents.
    enum Step: Hashable, Sendable {
        case begin, append, open, delete, sweep
        /// Before the file has its name, and after that.
        case keep, kept
    }

    private struct State {
        var files: [AssetName: [UInt8]] = [:]
        var faults: [Step: FileFault] = [:]
        var incoming = 0
        var suspended: [String: [UInt8]] = [:]
        var sweeps: [Duration] = []
        var freeSpace: Int64?
        var onKeep: @Sendable (AssetName) async -> Void = { _ in }
    }

    let kind = "memory"
    let keptThumbnails = MemoryThumbnails()
    var thumbnails: (any ThumbnailStorage)? { keptThumbnails }
    private let state = Mutex(State())

    var names: Set<AssetName> { state.withLock { Set($0.files.keys) } }
    /// The uploads that were begun, and neither kept nor discarded.
    var incoming: Int { state.withLock { $0.incoming } }
    /// The incoming files that were suspended.
    var suspended: [String: [UInt8]] { state.withLock { $0.suspended } }
    /// The ages of parts that were swept.
    var sweeps: [Duration] { state.withLock { $0.sweeps } }

    subscript(name: AssetName) -> [UInt8]? {
        get { state.withLock { $0.files[name] } }
        set { state.withLock { $0.files[name] = newValue } }
    }

    /// Fails at a step from now on; nil: no longer.
    func fail(at step: Step, with fault: FileFault?) {
        state.withLock { $0.faults[step] = fault }
    }

    /// Has this many free bytes from now on; nil: without a bound.
    func setFreeSpace(_ bytes: Int64?) {
        state.withLock { $0.freeSpace = bytes }
    }

    /// Runs `body` whenever a file is about to get its name.
    func onKeep(_ body: @escaping @Sendable (AssetName) async -> Void) {
        state.withLock { $0.onKeep = body }
    }

    fileprivate func check(_ step: Step) throws(FileFault) {
        if let fault = state.withLock({ $0.faults[step] }) { throw fault }
    }

    // MARK: - FileStorage

    func begin(hashesMD5: Bool) async throws(FileFault) -> any IncomingFile {
        try check(.begin)
        state.withLock { $0.incoming += 1 }
        return Incoming(self, UUIDText().description, [], hashesMD5: hashesMD5)
    }

    func resume(_ id: String, length: Int64) async throws(FileFault) -> (any IncomingFile)? {
        try check(.begin)
        let bytes = state.withLock { state -> [UInt8]? in
            guard let bytes = state.suspended[id], bytes.count >= length else { return nil }
            // It stays until the file is kept or discarded, as on a disk.
            state.incoming += 1
            return bytes
        }
        return bytes.map { Incoming(self, id, Array($0.prefix(Int(length))), hashesMD5: false) }
    }

    func open(_ name: AssetName) async throws(FileFault) -> OpenedFile? {
        try check(.open)
        return try self[name].map { bytes throws(FileFault) in try OpenedFile(holding: bytes) }
    }

    func delete(_ name: AssetName) async throws(FileFault) {
        try check(.delete)
        self[name] = nil
        await keptThumbnails.delete(of: name)
    }

    func files(after name: AssetName?, limit: Int) async throws(FileFault) -> [FileEntry] { [] }

    func sweep(
        olderThan age: Duration,
        except needed: @Sendable (_ ids: [String]) async -> Set<String>
    ) async throws(FileFault) -> Int {
        try check(.sweep)
        let ids = state.withLock { state in
            state.sweeps.append(age)
            return Array(state.suspended.keys)
        }
        let kept = await needed(ids)
        state.withLock { state in
            for id in ids where !kept.contains(id) { state.suspended[id] = nil }
        }
        return ids.count - kept.count
    }

    func freeSpace() async throws(FileFault) -> Int64? { state.withLock { $0.freeSpace } }

    private final class Incoming: IncomingFile {
        let id: String
        private let storage: MemoryFileStorage
        private let bytes: Mutex<[UInt8]?>
        private let hashesMD5: Bool

        init(_ storage: MemoryFileStorage, _ id: String, _ bytes: [UInt8], hashesMD5: Bool) {
            self.storage = storage
            self.id = id
            self.bytes = Mutex(bytes)
            self.hashesMD5 = hashesMD5
        }

        deinit {
            _ = end()
        }

        func append(_ part: [UInt8]) async throws(FileFault) {
            try storage.check(.append)
            bytes.withLock { $0? += part }
        }

        func digests() async throws(FileFault) -> FileDigests {
            var digester = FileDigester(hashesMD5: hashesMD5)
            digester.update(bytes.withLock { $0 ?? [] })
            return digester.digests
        }

        func first(_ count: Int) async throws(FileFault) -> [UInt8] {
            bytes.withLock { Array(($0 ?? []).prefix(count)) }
        }

        func suspend() async throws(FileFault) {
            try storage.check(.append)
            guard let written = end() else { return }
            storage.state.withLock { $0.suspended[id] = written }
        }

        func keep(as name: AssetName) async throws(FileFault) {
            try storage.check(.keep)
            let onKeep = storage.state.withLock { $0.onKeep }
            await onKeep(name)
            guard let written = end() else { return }
            storage.state.withLock { $0.suspended[id] = nil }
            storage[name] = written
            try storage.check(.kept)
        }

        func discard() async {
            if end() != nil { storage.state.withLock { $0.suspended[id] = nil } }
        }

        private func end() -> [UInt8]? {
            let written = bytes.withLock { $0.take() }
            if written != nil { storage.state.withLock { $0.incoming -= 1 } }
            return written
        }
    }
}

extension OpenedFile {
    /// A file without a name, which ends with its descriptor.
    init(holding bytes: [UInt8]) throws(FileFault) {
        guard let file = tmpfile() else { throw .unavailable("no temporary file") }
        defer { fclose(file) }
        fwrite(bytes, 1, bytes.count, file)
        fflush(file)
        let descriptor = FileDescriptor(owning: dup(fileno(file)))
        self.init(.descriptor(descriptor), size: Int64(bytes.count))
    }
}
