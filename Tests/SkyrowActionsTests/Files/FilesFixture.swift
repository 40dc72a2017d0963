import Foundation
import SkyrowModel
import SkyrowProtocol
import SkyrowStore
import SkyrowSystem
import Testing

@testable import SkyrowActions

/// A service with files in memory.
struct FilesFixture: Sendable {
    /// The first bytes of a PNG image.
    static let png: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A, 1, 2, 3]
    static let text = Array("some text".utf8)
    static let master = Sender(credentials: ServiceFixture.master, client: .none)
    static let key = Sender(credentials: ServiceFixture.key, client: .none)
    static let nobody = Sender(credentials: Credentials(), client: .none)

    let base: ServiceFixture
    let service: ActionService
    let storage: MemoryFileStorage

    static var id: RequestID {
        var generator = RequestIDGenerator()
        return generator.next()
    }

    /// A new user with the sender of requests.
    func user(_ name: String) async throws -> (caller: Caller, sender: Sender) {
        let (result, caller) = try await service.signUp(name)
        let credentials = Credentials(key: "api", accessToken: result.accessToken)
        return (caller, Sender(credentials: credentials, client: .none))
    }

    func begin(
        _ filename: String = "cat.png",
        _ contentType: String? = "image/png",
        length: Int? = nil,
        by sender: Sender
    ) async throws(SkyrowError) -> Upload {
        let target = UploadTarget.new(filename: filename, contentType: contentType)
        return try await service.beginUpload(target, length: length, from: sender, id: Self.id, hashesMD5: true)
    }

    func begin(
        _ name: AssetName,
        _ signature: FileSignature? = nil,
        length: Int? = nil,
        by sender: Sender
    ) async throws(SkyrowError) -> Upload {
        let target = UploadTarget.announced(name, signature)
        return try await service.beginUpload(target, length: length, from: sender, id: Self.id)
    }

    /// Uploads a file, and returns its name.
    @discardableResult
    func upload(
        _ bytes: [UInt8] = png,
        _ filename: String = "cat.png",
        by sender: Sender
    ) async throws(SkyrowError) -> AssetName {
        let upload = try await begin(filename, nil, by: sender)
        try await upload.append(bytes)
        return try await upload.finish().asset.name
    }

    func announce(
        _ filename: String = "cat.png",
        _ contentType: String = "image/png",
        size: Int = png.count,
        by caller: Caller
    ) async throws(SkyrowError) -> AnnouncedFile {
        let announcement = FileAnnouncement(filename: filename, contentType: contentType, size: size)
        return try await service.run(Actions.assetPut, announcement, by: caller)
    }

    /// Returns the bytes of a file, and how long a response may be used again.
    func download(
        _ name: AssetName,
        _ signature: FileSignature? = nil,
        by sender: Sender
    ) async throws(SkyrowError) -> (bytes: [UInt8], cache: DownloadCache) {
        try await download(.file(name, signature), by: sender)
    }

    func download(
        _ source: DownloadSource,
        by sender: Sender
    ) async throws(SkyrowError) -> (bytes: [UInt8], cache: DownloadCache) {
        let download = try await service.download(source, from: sender, id: Self.id)
        guard case .descriptor(let descriptor) = download.file.source else { return ([], download.cache) }
        var bytes = [UInt8](repeating: 0, count: Int(download.file.size))
        let count = pread(descriptor.number, &bytes, bytes.count, 0)
        #expect(count == bytes.count)
        return (bytes, download.cache)
    }

    /// `OK`, or the name of the error.
    func reading(_ name: AssetName, _ signature: FileSignature? = nil, by sender: Sender) async -> String {
        await summary { () async throws(SkyrowError) in try await download(name, signature, by: sender) }
    }

    func summary<Success>(_ body: () async throws(SkyrowError) -> Success) async -> String {
        do throws(SkyrowError) {
            _ = try await body()
            return "OK"
        } catch {
            return error.code.name
        }
    }

    func state(of name: AssetName) async throws -> String {
        try await base.psql("SELECT state FROM _asset WHERE name = '\(name)'")
    }
}

/// Runs `body` with a service with files, on a database of the test's own.
func withFiles(
    uploads: UploadAudience = .user,
    maximum: Int64 = 1000,
    quota: Int64 = FileConfiguration.defaultQuota,
    types: FileTypes = .every,
    thumbnails: ThumbnailConfiguration? = nil,
    test: String = #function,
    _ body: (FilesFixture) async throws -> Void
) async throws {
    try await withService(test: test) { fixture in
        let storage = MemoryFileStorage()
        let service = fixture.configured { configuration in
            configuration.files = FileConfiguration(
                storage: storage,
                urlPrefix: "https://files.example/files",
                uploads: uploads,
                maximum: maximum,
                quota: quota,
                freeSpace: 1000,
                types: types,
                thumbnails: thumbnails
            )
        }
        await service.prepareFiles()
        try await body(FilesFixture(base: fixture, service: service, storage: storage))
    }
}

extension FileSignature {
    /// The signature in an address or a path.
    init(of address: String) throws {
        let components = try #require(URLComponents(string: address))
        let items = Dictionary(
            uniqueKeysWithValues: (components.queryItems ?? []).map { ($0.name, $0.value ?? "") }
        )
        self.init(
            expiredAt: try #require(items["expiredAt"]),
            signature: try #require(items["signature"])
        )
    }
}

extension Sender {
    /// The same from another address.
    func from(_ client: UInt64) -> Sender {
        var sender = self
        sender.client = ClientKey(high: 0, low: client)
        return sender
    }
}
