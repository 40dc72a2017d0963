import SkyrowModel
import SkyrowProtocol
import SkyrowStore
import SkyrowTestSupport
import Testing

@testable import SkyrowActions

/// A storage on another machine, to which clients upload files themselves.
private final class DirectStorage: FileStorage {
    let base = MemoryFileStorage()
    let kind = "memory"
    let directUploads: (any DirectUploads)?

    private struct Form: DirectUploads {
        func form(for file: StoredAsset, validFor time: Duration) -> (address: String, fields: [String: String]) {
            ("https://bucket.example/", ["key": "app/\(file.name)", "size": "\(file.size)", "time": "\(time)"])
        }
    }

    init(isDirect: Bool = true) {
        directUploads = isDirect ? Form() : nil
    }

    private struct File: RemoteFile {
        let bytes: [UInt8]

        func read(_ range: Range<Int64>, _ body: @Sendable (_ part: [UInt8]) async throws -> Void) async throws {
            for index in range { try await body([bytes[Int(index)]]) }
        }
    }

    func begin(hashesMD5: Bool) async throws(FileFault) -> any IncomingFile {
        try await base.begin(hashesMD5: hashesMD5)
    }

    func resume(_ id: String, length: Int64) async throws(FileFault) -> (any IncomingFile)? {
        try await base.resume(id, length: length)
    }

    func open(_ name: AssetName) async throws(FileFault) -> OpenedFile? {
        _ = try await base.open(name)
        return base[name].map { OpenedFile(.remote(File(bytes: $0)), size: Int64($0.count)) }
    }

    func delete(_ name: AssetName) async throws(FileFault) {
        try await base.delete(name)
    }

    func files(after name: AssetName?, limit: Int) async throws(FileFault) -> [FileEntry] { [] }

    func sweep(
        olderThan age: Duration,
        except needed: @Sendable (_ ids: [String]) async -> Set<String>
    ) async throws(FileFault) -> Int { 0 }
}

/// Files that clients upload to the bucket, and that become stored when they are used.
@Suite struct DirectUploadTests {
    private struct Fixture {
        let base: ServiceFixture
        let service: ActionService
        let storage: DirectStorage

        func user(_ name: String) async throws -> Caller {
            try await service.signUp(name).1
        }

        func announce(
            _ contentType: String = "image/png",
            size: Int = FilesFixture.png.count,
            by caller: Caller
        ) async throws(SkyrowError) -> AnnouncedFile {
            let announcement = FileAnnouncement(filename: "cat.png", contentType: contentType, size: size)
            return try await service.run(Actions.assetPut, announcement, by: caller)
        }

        func row(_ name: AssetName) async throws -> String {
            try await base.psql(
                "SELECT state, size, content_type, sniffed, sha256 IS NULL FROM _asset WHERE name = '\(name)'"
            )
        }

        func download(_ file: AnnouncedFile) async -> String {
            do {
                let signature = try FileSignature(of: file.file.asset.url ?? "")
                let download = try await service.download(
                    .file(file.file.asset.name, signature),
                    from: FilesFixture.nobody,
                    id: FilesFixture.id
                )
                return "\(download.asset.contentType) \(download.asset.state) \(download.file.size)"
            } catch let error as SkyrowError {
                return error.code.name
            } catch {
                return "\(error)"
            }
        }
    }

    private func withDirectFiles(
        isDirect: Bool = true,
        types: FileTypes = .every,
        test: String = #function,
        _ body: (Fixture) async throws -> Void
    ) async throws {
        try await withService(test: test) { fixture in
            let storage = DirectStorage(isDirect: isDirect)
            let service = fixture.configured { configuration in
                configuration.files = FileConfiguration(
                    storage: storage,
                    urlPrefix: "https://files.example/files",
                    maximum: 1000,
                    types: types
                )
            }
            await service.prepareFiles()
            try await body(Fixture(base: fixture, service: service, storage: storage))
        }
    }

    @Test(arguments: [true, false]) func anAnnouncementNamesTheFormOfTheStorage(_ isDirect: Bool) async throws {
        try await withDirectFiles(isDirect: isDirect) { files in
            let file = try await files.announce(by: try await files.user("ann"))
            let name = file.file.asset.name
            if isDirect {
                #expect(file.request.action == "https://bucket.example/")
                #expect(file.request.fields == ["key": "app/\(name)", "size": "11", "time": "900.0 seconds"])
            } else {
                #expect(file.request.action.hasPrefix("/files/\(name)?") && file.request.fields.isEmpty)
            }
        }
    }

    @Test func aDownloadMakesAnUploadedFileStored() async throws {
        try await withDirectFiles { files in
            let ann = try await files.user("ann")
            let file = try await files.announce(by: ann)
            let name = file.file.asset.name
            #expect(await files.download(file) == "ResourceNotFound")
            files.storage.base[name] = FilesFixture.png
            #expect(await files.download(file) == "image/png stored 11")
            #expect(try await files.row(name) == "stored|11|image/png|image/png|t")
            #expect(await files.download(file) == "image/png stored 11")
        }
    }

    @Test func withoutTheSettingAnExpectedFileIsNotLookedFor() async throws {
        try await withDirectFiles(isDirect: false) { files in
            let file = try await files.announce(by: try await files.user("ann"))
            files.storage.base[file.file.asset.name] = FilesFixture.png
            #expect(await files.download(file) == "ResourceNotFound")
        }
    }

    @Test func whatDiffersFromTheAnnouncementIsNoFile() async throws {
        let types = try #require(FileTypes("text/plain,image/png"))
        try await withDirectFiles(types: types) { files in
            let ann = try await files.user("ann")
            let gif = Array("GIF89a and more".utf8)
            let rows: [(type: String, size: Int, [UInt8], String)] = [
                ("image/png", 11, Array(FilesFixture.png.dropLast()), "ResourceNotFound"),
                ("image/png", 11, FilesFixture.png + [1], "ResourceNotFound"),
                ("image/png", gif.count, gif, "ResourceNotFound"),
                ("application/octet-stream", 11, FilesFixture.png, "image/png stored 11"),
            ]
            for (type, size, bytes, outcome) in rows {
                let file = try await files.announce(type, size: size, by: ann)
                files.storage.base[file.file.asset.name] = bytes
                let found = await files.download(file)
                #expect(found == outcome, "\(type)")
                let state = try await files.row(file.file.asset.name).prefix { $0 != "|" }
                #expect(state == (outcome == "ResourceNotFound" ? "expected" : "stored"), "\(type)")
            }
        }
    }

    @Test func aFaultOfTheStorageKeepsTheFileExpected() async throws {
        try await withDirectFiles { files in
            let file = try await files.announce(by: try await files.user("ann"))
            files.storage.base[file.file.asset.name] = FilesFixture.png
            files.storage.base.fail(at: .open, with: .unavailable("away"))
            #expect(await files.download(file) == "Overloaded")
            files.storage.base.fail(at: .open, with: nil)
            #expect(await files.download(file) == "image/png stored 11")
        }
    }

    @Test func aSaveMakesAnUploadedFileStored() async throws {
        try await withDirectFiles { files in
            let (ann, ben) = (try await files.user("ann"), try await files.user("ben"))
            let file = try await files.announce(by: ann)
            let name = file.file.asset.name
            func save(by caller: Caller) async throws -> String {
                let draft = RecordDraft(
                    id: id(caller == ann ? "note/ann" : "note/ben"),
                    access: AccessList([]),
                    fields: [(field("photo"), .asset(Asset(name)))]
                )
                return try await files.service.save(SaveRequest(draft), by: caller).outcomes.first?.summary ?? ""
            }
            #expect(try await save(by: ann) == "InvalidArgument")
            files.storage.base[name] = FilesFixture.png
            // It is stored now, and still only its uploader may use it.
            #expect(try await save(by: ben) == "InvalidArgument")
            #expect(try await files.row(name).hasPrefix("stored|"))
            #expect(try await save(by: ann) == "saved")
        }
    }
}
