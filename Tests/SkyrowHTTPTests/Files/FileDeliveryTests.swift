import Foundation
import Glibc
import SkyrowActions
import SkyrowModel
import SkyrowSystem
import SkyrowTestSupport
import Testing

@testable import SkyrowHTTP

/// Files of another machine, which the service sends in parts or redirects to.
private final class RemoteStorage: FileStorage {
    let kind = "test"
    let base: TestFileStorage
    private let redirects: Bool

    private struct File: RemoteFile {
        let bytes: [UInt8]
        let redirects: Bool

        func read(_ range: Range<Int64>, _ body: @Sendable (_ part: [UInt8]) async throws -> Void) async throws {
            for index in range { try await body([bytes[Int(index)]]) }
        }

        func address(contentType: String, disposition: String) -> String? {
            redirects ? "https://bucket.example/a?type=\(contentType)&disposition=\(disposition.prefix(6))" : nil
        }
    }

    init(_ base: TestFileStorage, redirects: Bool) {
        self.base = base
        self.redirects = redirects
    }

    func begin(hashesMD5: Bool) async throws(FileFault) -> any IncomingFile {
        try await base.begin(hashesMD5: hashesMD5)
    }

    func resume(_ id: String, length: Int64) async throws(FileFault) -> (any IncomingFile)? {
        try await base.resume(id, length: length)
    }

    func open(_ name: AssetName) async throws(FileFault) -> OpenedFile? {
        guard let file = try await base.open(name), case .descriptor(let descriptor) = file.source else { return nil }
        var bytes = [UInt8](repeating: 0, count: Int(file.size))
        guard pread(descriptor.number, &bytes, bytes.count, 0) == bytes.count else { return nil }
        return OpenedFile(.remote(File(bytes: bytes, redirects: redirects)), size: file.size)
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

@Suite struct FileDeliveryTests {
    private static let gif = "GIF89a, and the rest of an image"

    private func withFile(
        redirects: Bool,
        test: String = #function,
        _ body: (TestService, TestUpload) async throws -> Void
    ) async throws {
        let storage = RemoteStorage(try TestFileStorage(), redirects: redirects)
        let files = FileConfiguration(storage: storage, urlPrefix: TestUpload.prefix)
        try await withService(files: files, test: test) { service in
            let ann = try await service.signUp("ann")
            try await body(service, try await service.upload(Self.gif, token: ann.token))
        }
    }

    @Test func aFileOfAnotherMachineIsPassedOn() async throws {
        try await withFile(redirects: false) { service, file in
            let rows: [(String, [(String, String)], Int, String)] = [
                ("GET", [], 200, Self.gif), ("HEAD", [], 200, ""), ("GET", [("Range", "bytes=0-5")], 206, "GIF89a"),
                ("GET", [("Range", "bytes=-5")], 206, "image"), ("GET", [("Range", "bytes=99-")], 416, ""),
                ("GET", [("If-None-Match", "\"\(file.name.id)\"")], 304, ""),
            ]
            for (method, headers, status, content) in rows {
                let response = try await service.send(method, file.signed, key: nil, headers: headers)
                #expect(response.status == status, "\(method) \(headers)")
                if status < 400 { #expect(response.body == content, "\(method) \(headers)") }
                #expect(response["accept-ranges"] == "bytes")
            }
        }
    }

    @Test func aDownloadIsRedirected() async throws {
        try await withFile(redirects: true) { service, file in
            for headers in [[], [("Range", "bytes=0-5")]] as [[(String, String)]] {
                let response = try await service.send("GET", file.signed, key: nil, headers: headers)
                #expect(response.status == 302 && response.body.isEmpty)
                #expect(response["location"] == "https://bucket.example/a?type=image/gif&disposition=inline")
                #expect(response["cache-control"] == "no-store")
            }
            let saved = try await service.send("GET", file.signed + "&download=1", key: nil)
            #expect(saved["location"]?.hasSuffix("&disposition=attach") == true)
            // These need no bytes, and an address of the bucket is for GET alone.
            let head = try await service.send("HEAD", file.signed, key: nil)
            #expect(head.status == 200 && head["content-length"] == "\(Self.gif.utf8.count)")
            let unchanged = [("If-None-Match", "\"\(file.name.id)\"")]
            let known = try await service.send("GET", file.signed, key: nil, headers: unchanged)
            #expect(known.status == 304 && known["location"] == nil)
            let range = [("Range", "bytes=99-")]
            #expect(try await service.send("GET", file.signed, key: nil, headers: range).status == 416)
            let refused = try await service.send("GET", file.path, key: nil)
            #expect(refused.status == 404 && refused["location"] == nil)
        }
    }
}
