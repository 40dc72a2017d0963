import Foundation
import SkyrowClient
import SkyrowModel
import SkyrowTestSupport
import Synchronization
import Testing

@testable import SkyrowMaintenance
@testable import SkyrowServer
@testable import SkyrowSystem
@testable import skyrow

/// The client's files over the sockets of the built service.
@Suite(.timeLimit(.minutes(60))) struct FileClientTests {
    /// What a transfer has said about its progress.
    private final class Noted: Sendable {
        private let progress = Mutex<[FileProgress]>([])

        func note(_ part: FileProgress) { progress.withLock { $0.append(part) } }

        /// Expects that it has grown in several steps to a number of bytes.
        func expectSteps(to size: Int) {
            let all = progress.withLock { $0 }
            #expect(all.count > 1)
            #expect(all.map(\.completed) == all.map(\.completed).sorted())
            #expect(all.allSatisfy { $0.total == Int64(size) })
            #expect(all.last?.completed == Int64(size))
        }
    }

    /// Bytes that do not repeat, so that a part in another place is noticed.
    ///
    /// - Parameter count: a multiple of 8.
    private static func bytes(_ count: Int) -> Data {
        var random = SeededGenerator(seed: UInt64(count))
        let words = (0..<count / 8).map { _ in random.next() }
        return words.withUnsafeBytes { Data($0) }
    }

    /// A client of a new user.
    private static func client(
        of service: RunningService,
        _ name: String,
        sessions: any SessionStorage = MemorySessionStorage()
    ) async throws -> SkyrowClient {
        let key = try service.key("SKYROW_API_KEY")
        let client = SkyrowClient(endpoint: service.address, apiKey: key, sessions: sessions)
        _ = try await client.signUp(["username": name], password: "correct horse")
        return client
    }

    /// Runs `body` with a file of ann, and a client of ann that reaches the service through a proxy, for files alone.
    private static func withFile(
        _ content: Data,
        _ body: (Asset, SkyrowClient, CuttingProxy, _ directory: URL) async throws -> Void
    ) async throws {
        try await withService { service in
            let folder = try TemporaryDirectory()
            let proxy = try CuttingProxy(to: service)
            defer { proxy.close() }
            let sessions = MemorySessionStorage()
            let ann = try await client(of: service, "ann", sessions: sessions)
            let asset = try await ann.upload(content, filename: "film.bin")
            let far = SkyrowClient(
                endpoint: proxy.address,
                apiKey: try service.key("SKYROW_API_KEY"),
                sessions: sessions,
                retryPolicy: RetryPolicy(initialDelay: .milliseconds(1))
            )
            // Without its address, which leads past the proxy.
            try await body(Asset(asset.name), far, proxy, URL(fileURLWithPath: folder.path))
        }
    }

    @Test func aFileIsTransferredWithItsProgress() async throws {
        // More than a download requests at once.
        let content = Self.bytes(17 << 20)
        try await withService { service in
            let folder = try TemporaryDirectory()
            let (file, copy) = (folder.path + "/film.bin", folder.path + "/copy.bin")
            try content.write(to: URL(fileURLWithPath: file))
            let ann = try await Self.client(of: service, "ann")
            let ben = try await Self.client(of: service, "ben")

            let sent = Noted()
            let asset = try await ann.upload(contentsOf: URL(fileURLWithPath: file)) { sent.note($0) }
            sent.expectSteps(to: content.count)
            _ = try await ann.publicDatabase.save(RecordDraft("film/1", ["film": .asset(asset)]))

            let record = try await ben.publicDatabase.fetch(RecordID("film/1"))
            let film = try #require(record["film"]?.assetValue)
            let received = Noted()
            try await ben.download(film, to: URL(fileURLWithPath: copy)) { received.note($0) }
            received.expectSteps(to: content.count)
            #expect(try Data(contentsOf: URL(fileURLWithPath: copy)) == content)
            #expect(contentsOfDirectory(folder.path)?.sorted() == ["copy.bin", "film.bin"])
            // By the address of the record, and by its name.
            for asset in [film, Asset(film.name)] {
                let part = try await ben.download(asset, range: 1000..<20_000)
                #expect(part == content[1000..<20_000])
            }
        }
    }

    @Test func aDownloadGoesOnWhereItsConnectionIsCut() async throws {
        let content = Self.bytes(3 << 20)
        try await Self.withFile(content) { file, client, proxy, directory in
            proxy.cut(after: 1 << 20, 1 << 19)
            let copy = directory.appendingPathComponent("copy.bin")
            try await client.download(file, to: copy)
            #expect(try Data(contentsOf: copy) == content)
            let starts = proxy.received.matches(of: /(?im)^range: bytes=(\d+)-/).compactMap { Int($0.1) }
            #expect(starts.count == 3 && starts.first == 0, "\(starts)")
            #expect(Set(starts).count == 3 && starts == starts.sorted(), "\(starts)")
            #expect(proxy.received.matches(of: /(?im)^if-range: "[0-9a-f-]{36}"/).count == 2)
        }
    }

    @Test func anInterruptedDownloadGoesOnInTheNextOne() async throws {
        let content = Self.bytes(3 << 20)
        try await Self.withFile(content) { file, client, proxy, directory in
            let copy = directory.appendingPathComponent("copy.bin")
            // As often as the client tries.
            proxy.cut(after: 1 << 20, 1 << 16, 1 << 16, 1 << 16)
            let error = await #expect(throws: ClientError.self) { try await client.download(file, to: copy) }
            #expect(error?.code == .noResponse)
            let part = directory.appendingPathComponent("\(file.name).part")
            let received = try Data(contentsOf: part)
            #expect(!received.isEmpty && received == content.prefix(received.count))

            try await client.download(file, to: copy)
            #expect(try Data(contentsOf: copy) == content)
            #expect(contentsOfDirectory(directory.path) == ["copy.bin"])
            let last = proxy.received.matches(of: /(?im)^range: bytes=(\d+)-/).last.flatMap { Int($0.1) }
            #expect(last == received.count)
        }
    }

    @Test func aDraftIsSavedWithFilesThatAreUploadedFirst() async throws {
        let content = Self.bytes(1 << 20)
        try await withService { service in
            let ann = try await Self.client(of: service, "ann")
            let ben = try await Self.client(of: service, "ben")
            let photo = LocalFile(content, filename: "Kätzchen 1.png", contentType: "image/png")
            let progress = Noted()
            let saved = try await ann.publicDatabase.save(
                RecordDraft("note/1", ["title": "Cat"]),
                uploading: ["photo": photo]
            ) { progress.note($0) }
            progress.expectSteps(to: content.count)
            let asset = try #require(saved["photo"]?.assetValue)
            #expect(saved["title"] == "Cat" && photo.asset == asset)
            #expect(try await ben.download(Asset(asset.name)) == content)
            let row = try await service.psql("SELECT filename, content_type, size FROM app_internal._asset")
            #expect(row == "Kätzchen 1.png|image/png|\(content.count)")

            // The same object is not sent again, also into a record that others may not read.
            let own = try RecordDraft("note/2", [:], access: AccessList([]))
            _ = try await ann.publicDatabase.save(own, uploading: ["photo": photo])
            #expect(try await service.psql("SELECT count(*) FROM app_internal._asset") == "1")
            try await ann.publicDatabase.delete(RecordID("note/1"))
            #expect(try await ann.download(Asset(asset.name)) == content)
            let hidden = await #expect(throws: ClientError.self) { try await ben.download(Asset(asset.name)) }
            #expect(hidden?.serverCode == .resourceNotFound)

            // Who may not save the record has uploaded a file that nothing refers to.
            let other = LocalFile(content, filename: "other.png", contentType: "image/png")
            let dog = try await ann.publicDatabase.save(RecordDraft("note/3", ["title": "Dog"]))
            let refused = await #expect(throws: ClientError.self) {
                try await ben.publicDatabase.save(RecordDraft("note/3", [:]), uploading: ["photo": other])
            }
            #expect(refused?.serverCode == .permissionDenied)
            #expect(try await ann.publicDatabase.fetch(dog.id)["photo"] == nil)
        }
    }
}
