import Foundation
import SkyrowActions
import SkyrowModel
import SkyrowRemote
import SkyrowTestSupport
import Synchronization
import Testing

@testable import SkyrowServer

/// Files in a bucket, and those that were in the directory before.
@Suite struct S3FileStorageTests {
    private struct Fixture: Sendable {
        let store: TemporaryObjectStore
        let local: LocalFileStorage
        let directory: String

        func storage(_ options: S3FileStorage.Options = S3FileStorage.Options()) throws -> S3FileStorage {
            let bucket = S3Bucket(
                TemporaryObjectStore.bucket,
                at: store.endpoint,
                region: "eu-central-1",
                accessKey: TemporaryObjectStore.accessKey,
                secretKey: TemporaryObjectStore.secretKey,
                usesPathStyle: true
            )
            let client = try S3Client(try #require(bucket), now: ServiceClock.system.now, sleep: { _ in })
            return S3FileStorage(client, of: .default, spoolingIn: local, options)
        }

        var incoming: [String] { contents(directory + "/app/incoming") }
    }

    private func withStorage(_ body: (Fixture) async throws -> Void) async throws {
        let folder = try TemporaryDirectory()
        let directory = folder.path + "/files"
        let local = try await LocalFileStorage(in: directory, of: .default)
        try await withObjectStore { store in
            try await body(Fixture(store: store, local: local, directory: directory))
        }
    }

    private func keep(_ bytes: [UInt8], as name: AssetName, in storage: S3FileStorage) async throws(FileFault) {
        let file = try await storage.begin(hashesMD5: false)
        do throws(FileFault) {
            for start in stride(from: 0, to: bytes.count, by: 1 << 20) {
                try await file.append(Array(bytes[start..<min(start + 1 << 20, bytes.count)]))
            }
            try await file.keep(as: name)
        } catch {
            await file.discard()
            throw error
        }
    }

    /// The bytes of a file; nil if it does not exist.
    private func bytes(of name: AssetName, in storage: S3FileStorage) async throws -> [UInt8]? {
        guard let file = try await storage.open(name) else { return nil }
        guard case .remote(let remote) = file.source else { return try file.bytes() }
        let bytes = Mutex<[UInt8]>([])
        try await remote.read(0..<file.size) { part in bytes.withLock { $0 += part } }
        return bytes.withLock { $0 }
    }

    @Test func aFileIsAnObjectOfItsApplication() async throws {
        try await withStorage { fixture in
            let storage = try fixture.storage()
            #expect(storage.kind == "s3" && storage.kinds == ["s3", "local"])
            let name = fileName("7b")
            try await keep(Array("cat".utf8), as: name, in: storage)
            #expect(try await fixture.store.keys() == ["app/\(name)"])
            #expect(fixture.incoming.isEmpty && contents(fixture.directory + "/app") == ["incoming"])
            #expect(try await bytes(of: name, in: storage) == Array("cat".utf8))
            try await storage.delete(name)
            try await storage.delete(name)
            #expect(try await fixture.store.keys() == [])
            #expect(try await bytes(of: name, in: storage) == nil)
        }
    }

    @Test func aLargeFileIsUploadedInParts() async throws {
        try await withStorage { fixture in
            let storage = try fixture.storage()
            let content = (0..<(Int(S3FileStorage.partLength) + 5)).map { UInt8(truncatingIfNeeded: $0 >> 3) }
            try await keep(content, as: fileName("7b"), in: storage)
            let requests = try await fixture.store.requests()
            #expect(requests.count { $0.hasPrefix("PUT") && $0.hasSuffix("?partNumber&uploadId") } == 2)
            let read = try await bytes(of: fileName("7b"), in: storage)
            #expect(read == content)

            try await fixture.store.fail(.full, method: "PUT")
            await #expect(throws: FileFault.noSpace) {
                try await keep(content, as: fileName("8c"), in: storage)
            }
            // Nothing is left there or here.
            #expect(try await fixture.store.keys() == ["app/\(fileName("7b"))"])
            #expect(fixture.incoming.isEmpty)
        }
    }

    @Test(
        arguments: [
            (1, 1, 1), (16 << 20, 1, 16 << 20), (16 << 20 + 1, 2, 1), (160_000 << 20, 10_000, 16 << 20),
            (1 << 40, 10_000, 109_948_939),
        ] as [(Int64, Int, Int64)]
    )
    func aFileHasAtMostTenThousandParts(_ size: Int64, _ count: Int, _ last: Int64) {
        let parts = S3FileStorage.parts(of: size)
        #expect(parts.count == count && Int64(parts.last?.count ?? 0) == last)
        #expect(parts.first?.lowerBound == 0 && parts.last?.upperBound == size)
        #expect(zip(parts, parts.dropFirst()).allSatisfy { $0.upperBound == $1.lowerBound })
    }

    @Test func aFileThatTheStoreDoesNotTakeCanBeSuspended() async throws {
        try await withStorage { fixture in
            let storage = try fixture.storage()
            let file = try await storage.begin(hashesMD5: false)
            try await file.append(Array("cat".utf8))
            try await fixture.store.fail(.slow, times: 3)
            await #expect(throws: FileFault.unavailable("The store did not perform PutObject (SlowDown).")) {
                try await file.keep(as: fileName("7b"))
            }
            try await file.suspend()
            let resumed = try #require(try await storage.resume(file.id, length: 3))
            try await resumed.keep(as: fileName("7b"))
            #expect(try await bytes(of: fileName("7b"), in: storage) == Array("cat".utf8))
            #expect(fixture.incoming.isEmpty)
            #expect(try await storage.resume(file.id, length: 3) == nil)
        }
    }

    /// A service that had no bucket has one now.
    @Test func filesOfTheDirectoryAreStillThere() async throws {
        try await withStorage { fixture in
            try await fixture.local.store("old", as: fileName("7b"))
            try await fixture.local.store("both", as: fileName("9d"))
            let storage = try fixture.storage()
            try await keep(Array("new".utf8), as: fileName("8c"), in: storage)
            try await keep(Array("bucket".utf8), as: fileName("9d"), in: storage)
            #expect(try await bytes(of: fileName("7b"), in: storage) == Array("old".utf8))
            #expect(try await bytes(of: fileName("9d"), in: storage) == Array("bucket".utf8))
            let all = try await storage.files(after: nil, limit: 10)
            #expect(all.map(\.name) == [fileName("7b"), fileName("8c"), fileName("9d")])
            #expect(all.map(\.size) == [3, 3, 6])
            let page = try await storage.files(after: fileName("7b"), limit: 1)
            #expect(page.map(\.name) == [fileName("8c")])
            for name in all.map(\.name) { try await storage.delete(name) }
            #expect(try await storage.files(after: nil, limit: 10) == [])
            #expect(try await fixture.local.files(after: nil, limit: 10) == [])
        }
    }

    @Test func objectsThatAreNoFilesAreNotListed() async throws {
        try await withStorage { fixture in
            let storage = try fixture.storage()
            for number in 1...3 { try await fixture.store.put("app/\(fileName("7b", number))", [1]) }
            for key in ["app/notes", "app/sub/\(fileName())", "shop/\(fileName())"] {
                try await fixture.store.put(key, [1])
            }
            let all = try await storage.files(after: nil, limit: 2)
            #expect(all.map(\.name) == [fileName("7b", 1), fileName("7b", 2)])
            let rest = try await storage.files(after: fileName("7b", 2), limit: 2)
            #expect(rest.map(\.name) == [fileName("7b", 3)])
        }
    }

    @Test func uploadsThatWereInterruptedAreSwept() async throws {
        try await withStorage { fixture in
            let storage = try fixture.storage()
            // The upload of a part fails, and so does the abortion.
            let large = [UInt8](repeating: 1, count: Int(S3FileStorage.partLength) + 1)
            try await fixture.store.fail(.full, method: "PUT")
            try await fixture.store.fail(.full, method: "DELETE")
            await #expect(throws: FileFault.noSpace) { try await keep(large, as: fileName("7b"), in: storage) }
            #expect(try await fixture.store.keys() == ["app/\(fileName("7b"))?"])
            #expect(try await storage.sweep(olderThan: .seconds(3600)) { _ in [] } == 0)
            try await fixture.store.age(uploads: 7200)
            #expect(try await storage.sweep(olderThan: .seconds(3600)) { _ in [] } == 1)
            #expect(try await fixture.store.keys() == [])
        }
    }

    @Test func whatClientsDoThemselvesIsASetting() async throws {
        try await withStorage { fixture in
            try await fixture.store.put("app/\(fileName("7b"))", [1])
            for isOn in [false, true] {
                let storage = try fixture.storage(S3FileStorage.Options(redirects: isOn, takesForms: isOn))
                #expect((storage.directUploads != nil) == isOn)
                let opened = try await storage.open(fileName("7b"))
                guard case .remote(let file)? = opened?.source else {
                    Issue.record("The file is not in the bucket")
                    continue
                }
                let address = file.address(contentType: "image/png", disposition: "inline")
                #expect((address != nil) == isOn)
                #expect(address?.contains("&X-Amz-Expires=60&") ?? true)
            }
        }
    }
}
