import Foundation
import SkyrowActions
import SkyrowCrypto
import SkyrowModel
import SkyrowServer
import SkyrowTestSupport

@testable import SkyrowMaintenance
@testable import SkyrowStore

/// A store, and the directory of its files.
struct FileFixture {
    let store: RecordStore
    let storage: LocalFileStorage
    /// The directory of the application's files.
    let directory: String
    private let fixture: StoreFixture

    init(_ fixture: StoreFixture, in folder: String) async throws {
        self.fixture = fixture
        store = fixture.store
        storage = try await LocalFileStorage(in: folder, of: .default)
        directory = "\(folder)/\(ApplicationName.default)"
    }

    /// An empty storage.
    static func directory(_ path: String) async throws -> LocalFileStorage {
        try await LocalFileStorage(in: path, of: .default)
    }

    /// The names of files, in order.
    static func name(_ number: Int, _ filename: String = "a.txt") -> AssetName {
        let digits = String(number, radix: 16)
        let first = String(repeating: "0", count: 8 - digits.count) + digits
        return AssetName(id: "\(first)-7135-4912-a6c9-7c1dbec0f5ef", filename: filename)
    }

    /// The fixed time of the tests.
    static let time = Timestamp(microseconds: 800_000_000_000_000)

    @discardableResult
    func psql(_ statements: String) async throws -> String { try await fixture.psql(statements) }

    var url: String { fixture.database.url }

    /// Writes a file that was changed some time before ``time``, without a row.
    func write(_ name: AssetName, _ text: String, age: Double = 7 * 86_400) async throws {
        let file = try await storage.begin(hashesMD5: false)
        try await file.append(Array(text.utf8))
        try await file.keep(as: name)
        let unix = Double(Self.time.microseconds + Timestamp.unixEpochOffset) / 1e6
        try FileManager.default.setAttributes(
            [.modificationDate: Date(timeIntervalSince1970: unix - age)],
            ofItemAtPath: path(name)
        )
    }

    /// Writes a file and its row.
    func keep(_ name: AssetName, _ text: String) async throws {
        try await write(name, text)
        try await store.assets.insertStored(
            StoredAsset(
                name: name,
                filename: String(name.filename),
                contentType: "text/plain",
                size: Int64(text.utf8.count),
                state: .stored,
                owner: nil
            ),
            sha256: SHA256.hash(of: text).bytes,
            storage: storage.kind
        )
    }

    func path(_ name: AssetName) -> String { "\(directory)/\(name.rawValue.prefix(2))/\(name)" }

    func verify(
        checksums: Bool = false,
        repair: FileVerification.Repair = .nothing,
        by storage: (any FileStorage)? = nil
    ) async throws -> FileReport {
        let run = FileVerification(comparesContents: checksums, repair: repair, time: Self.time) { _, _ in NoProgress()
        }
        return try await run(storage ?? self.storage, of: store)
    }
}

/// Runs `body` with three stored files, `one`, `two` and `three`.
func withFiles(test: String = #function, _ body: (FileFixture) async throws -> Void) async throws {
    let folder = try TemporaryDirectory()
    let path = folder.path
    try await withStore(test: test) { fixture in
        let files = try await FileFixture(fixture, in: path)
        for (number, text) in [(1, "one"), (2, "two"), (3, "three")] {
            try await files.keep(FileFixture.name(number), text)
        }
        try await body(files)
    }
}

/// A storage with a change before its files are listed.
struct DisturbedStorage: FileStorage {
    let storage: any FileStorage
    let disturb: @Sendable () async -> Void

    var kind: String { storage.kind }

    func begin(hashesMD5: Bool) async throws(FileFault) -> any IncomingFile {
        try await storage.begin(hashesMD5: hashesMD5)
    }
    func resume(_ id: String, length: Int64) async throws(FileFault) -> (any IncomingFile)? {
        try await storage.resume(id, length: length)
    }
    func open(_ name: AssetName) async throws(FileFault) -> OpenedFile? { try await storage.open(name) }
    func delete(_ name: AssetName) async throws(FileFault) { try await storage.delete(name) }
    func sweep(
        olderThan age: Duration,
        except needed: @Sendable (_ ids: [String]) async -> Set<String>
    ) async throws(FileFault) -> Int {
        try await storage.sweep(olderThan: age, except: needed)
    }

    func files(after name: AssetName?, limit: Int) async throws(FileFault) -> [FileEntry] {
        await disturb()
        return try await storage.files(after: name, limit: limit)
    }
}
