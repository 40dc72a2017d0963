import Foundation
import Glibc
import SkyrowActions
import SkyrowJSON
import SkyrowModel
import SkyrowSystem
import SkyrowTestSupport
import Synchronization

/// Files in a directory of a test. It counts the uploads in progress, waits and fails as told, and makes nothing durable.
final class TestFileStorage: FileStorage {
    private struct State {
        var names: Set<AssetName> = []
        var incoming = 0
        var suspended: [String: [UInt8]] = [:]
        var largestPart = 0
        var fault: FileFault?
        var gate: Gate<Void>?
        var freeSpace: Int64?
    }

    let kind = "test"
    private let directory: String
    private let state = Mutex(State())

    init() throws {
        directory = try TemporaryDirectory.make(named: "files")
    }

    deinit {
        try? FileManager.default.removeItem(atPath: directory)
    }

    /// The names of the kept files.
    var names: Set<AssetName> { state.withLock { $0.names } }
    /// The uploads that were begun, and neither kept nor discarded.
    var incoming: Int { state.withLock { $0.incoming } }
    var largestPart: Int { state.withLock { $0.largestPart } }

    /// Makes every method fail from now on; on a full disk an upload can still begin.
    func fail(with fault: FileFault?) {
        state.withLock { $0.fault = fault }
    }

    /// Has this many free bytes from now on; nil: without a bound.
    func setFreeSpace(_ bytes: Int64?) {
        state.withLock { $0.freeSpace = bytes }
    }

    /// Makes every write wait for the gate from now on.
    func hold(at gate: Gate<Void>?) {
        state.withLock { $0.gate = gate }
    }

    /// Removes the bytes of a file, and nothing else.
    func lose(_ name: AssetName) throws {
        try FileManager.default.removeItem(atPath: path(name))
    }

    /// Makes files with these names, and no rows.
    func insert(_ names: [String]) {
        for name in names.compactMap({ AssetName($0) }) {
            FileManager.default.createFile(atPath: path(name), contents: Data("a file".utf8))
            state.withLock { _ = $0.names.insert(name) }
        }
    }

    private func path(_ name: AssetName) -> String { "\(directory)/\(name)" }

    private func check() throws(FileFault) {
        if let fault = state.withLock({ $0.fault }) { throw fault }
    }

    // MARK: - FileStorage

    func begin(hashesMD5: Bool) async throws(FileFault) -> any IncomingFile {
        if case .unavailable? = state.withLock({ $0.fault }) { try check() }
        state.withLock { $0.incoming += 1 }
        return Incoming(self, UUIDText().description, [], hashesMD5: hashesMD5)
    }

    func resume(_ id: String, length: Int64) async throws(FileFault) -> (any IncomingFile)? {
        let bytes = state.withLock { state -> [UInt8]? in
            guard let bytes = state.suspended[id], bytes.count >= length else { return nil }
            // It stays until the file is kept or discarded, as on a disk.
            state.incoming += 1
            return bytes
        }
        return bytes.map { Incoming(self, id, Array($0.prefix(Int(length))), hashesMD5: false) }
    }

    func open(_ name: AssetName) async throws(FileFault) -> OpenedFile? {
        try check()
        let descriptor = Glibc.open(path(name), O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        var status = stat()
        _ = fstat(descriptor, &status)
        return OpenedFile(.descriptor(FileDescriptor(owning: descriptor)), size: Int64(status.st_size))
    }

    func open(_ name: AssetName, readingUpTo limit: Int) async throws(FileFault) -> OpenedFile? {
        guard let file = try await open(name), file.size <= Int64(limit) else { return try await open(name) }
        let bytes = FileManager.default.contents(atPath: path(name)).map { [UInt8]($0) }
        return OpenedFile(file.source, size: file.size, content: bytes)
    }

    func delete(_ name: AssetName) async throws(FileFault) {
        try check()
        try? lose(name)
        state.withLock { _ = $0.names.remove(name) }
    }

    func files(after name: AssetName?, limit: Int) async throws(FileFault) -> [FileEntry] { [] }

    func sweep(
        olderThan age: Duration,
        except needed: @Sendable (_ ids: [String]) async -> Set<String>
    ) async throws(FileFault) -> Int { 0 }

    func freeSpace() async throws(FileFault) -> Int64? { state.withLock { $0.freeSpace } }

    private final class Incoming: IncomingFile {
        let id: String
        private let storage: TestFileStorage
        private let bytes: Mutex<[UInt8]?>
        private let hashesMD5: Bool

        init(_ storage: TestFileStorage, _ id: String, _ bytes: [UInt8], hashesMD5: Bool) {
            self.storage = storage
            self.id = id
            self.bytes = Mutex(bytes)
            self.hashesMD5 = hashesMD5
        }

        deinit {
            _ = end()
        }

        func append(_ part: [UInt8]) async throws(FileFault) {
            let gate = storage.state.withLock { state in
                state.largestPart = max(state.largestPart, part.count)
                return state.gate
            }
            try? await gate?.value()
            try storage.check()
            bytes.withLock { $0?.append(contentsOf: part) }
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
            try storage.check()
            guard let written = end() else { return }
            storage.state.withLock { $0.suspended[id] = written }
        }

        func keep(as name: AssetName) async throws(FileFault) {
            try storage.check()
            guard let written = end() else { return }
            storage.state.withLock { $0.suspended[id] = nil }
            FileManager.default.createFile(atPath: storage.path(name), contents: Data(written))
            storage.state.withLock { _ = $0.names.insert(name) }
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
