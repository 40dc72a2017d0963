import SkyrowModel
import SkyrowTestSupport
import Synchronization
import Testing

@testable import SkyrowRemote

/// Against a store on the loopback interface that verifies signatures.
@Suite struct S3ClientTests {
    /// What a client has done.
    private final class Record: Sendable {
        let pauses = Mutex<[Duration]>([])
        let outcomes = Mutex<[String]>([])

        func takeOutcomes() -> [String] {
            outcomes.withLock { outcomes in
                defer { outcomes = [] }
                return outcomes
            }
        }
    }

    private func client(
        _ store: TemporaryObjectStore,
        _ record: Record = Record(),
        name: String = TemporaryObjectStore.bucket,
        accessKey: String = TemporaryObjectStore.accessKey,
        secretKey: String = TemporaryObjectStore.secretKey
    ) throws -> S3Client {
        let bucket = S3Bucket(
            name,
            at: store.endpoint,
            region: "eu-central-1",
            accessKey: accessKey,
            secretKey: secretKey,
            usesPathStyle: true
        )
        return try S3Client(
            try #require(bucket),
            now: { Timestamp(microseconds: 0) },
            sleep: { pause in record.pauses.withLock { $0.append(pause) } },
            observe: { operation, kind in
                record.outcomes.withLock { $0.append("\(operation.rawValue) \(kind?.rawValue ?? "ok")") }
            }
        )
    }

    private func bytes(_ count: Int) -> [UInt8] {
        (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) }
    }

    private func read(_ client: S3Client, _ key: String, _ range: Range<Int64>) async throws -> [UInt8] {
        var bytes: [UInt8] = []
        try await client.get(key, range) { bytes += $0 }
        return bytes
    }

    private func failure(_ body: () async throws -> Void) async throws -> S3Failure {
        do {
            try await body()
        } catch let failure as S3Failure {
            return failure
        }
        Issue.record("Nothing failed")
        return S3Failure(.refused, "", "")
    }

    @Test func anObjectIsPutReadListedAndDeleted() async throws {
        try await withObjectStore { store in
            let record = Record()
            let client = try client(store, record)
            let content = bytes(700_000)
            try await client.put("app/a b+ä", S3Body(content))
            let size = try await client.size(of: "app/a b+ä")
            #expect(size == 700_000)
            let whole = try await read(client, "app/a b+ä", 0..<700_000)
            #expect(whole == content)
            let part = try await read(client, "app/a b+ä", 699_990..<700_000)
            #expect(part == Array(content.suffix(10)))
            let none = try await read(client, "app/a b+ä", 5..<5)
            #expect(none == [])
            try await client.delete("app/a b+ä")
            try await client.delete("app/a b+ä")
            let gone = try await client.size(of: "app/a b+ä")
            #expect(gone == nil)
            let missing = try await failure { _ = try await read(client, "app/a b+ä", 0..<5) }
            #expect(missing.kind == .missing && missing.code == "NoSuchKey")
            #expect(
                record.takeOutcomes() == [
                    "PutObject ok", "HeadObject ok", "GetObject ok", "GetObject ok", "DeleteObject ok",
                    "DeleteObject ok", "HeadObject missing", "GetObject missing",
                ]
            )
            #expect(record.pauses.withLock { $0 } == [])
        }
    }

    @Test func aListHasPages() async throws {
        try await withObjectStore { store in
            let client = try client(store)
            for key in ["app/1", "app/2", "app/3", "apple/1"] { try await store.put(key, [1, 2]) }
            let first = try await client.objects(prefix: "app/", limit: 2)
            #expect(first.entries.map(\.key) == ["app/1", "app/2"] && !first.isLast)
            #expect(first.entries.allSatisfy { $0.size == 2 && $0.modifiedAt.microseconds > 0 })
            let second = try await client.objects(prefix: "app/", after: "app/2", limit: 2)
            #expect(second.entries.map(\.key) == ["app/3"] && second.isLast)
            let none = try await client.objects(prefix: "shop/")
            #expect(none.entries.isEmpty && none.isLast)
        }
    }

    @Test func anUploadInPartsBecomesAnObject() async throws {
        try await withObjectStore { store in
            let client = try client(store)
            let content = bytes(500_001)
            let upload = try await client.beginUpload("app/a")
            let first = try await client.putPart("app/a", upload, number: 1, S3Body(Array(content.prefix(300_000))))
            let second = try await client.putPart("app/a", upload, number: 2, S3Body(Array(content.dropFirst(300_000))))
            let open = try await client.openUploads(prefix: "app/")
            #expect(open.map(\.key) == ["app/a"] && open.map(\.id) == [upload])
            try await client.completeUpload("app/a", upload, tags: [first, second], size: 500_001)
            let whole = try await read(client, "app/a", 0..<500_001)
            #expect(whole == content)

            let other = try await client.beginUpload("app/b")
            try await client.abortUpload("app/b", other)
            try await client.abortUpload("app/b", other)
            let keys = try await store.keys()
            #expect(keys == ["app/a"])
        }
    }

    // MARK: Faults

    @Test(arguments: [TemporaryObjectStore.Fault.slow, .failing])
    func anOverloadedStoreIsAskedThreeTimes(_ fault: TemporaryObjectStore.Fault) async throws {
        try await withObjectStore { store in
            let record = Record()
            let client = try client(store, record)
            try await store.fail(fault, times: 2)
            try await client.put("app/a", S3Body([1, 2, 3]))
            #expect(record.takeOutcomes() == ["PutObject unavailable", "PutObject unavailable", "PutObject ok"])
            #expect(record.pauses.withLock { $0 } == [.milliseconds(200), .seconds(1)])
            let content = try await read(client, "app/a", 0..<3)
            #expect(content == [1, 2, 3])

            try await store.fail(fault, times: 3)
            let failure = try await failure { try await client.put("app/a", S3Body([4])) }
            #expect(failure.kind == .unavailable)
            #expect(record.pauses.withLock(\.count) == 4)
        }
    }

    /// libcurl itself tries a connection again that it had kept.
    @Test func aLostConnectionIsTriedAgain() async throws {
        try await withObjectStore { store in
            let client = try client(store)
            for _ in 0..<3 {
                try await store.fail(.drop)
                try await client.put("app/a", S3Body(bytes(200_000)))
                let size = try await client.size(of: "app/a")
                #expect(size == 200_000)
            }
        }
    }

    @Test func aDownloadContinuesWhereItsConnectionEnded() async throws {
        try await withObjectStore { store in
            let client = try client(store)
            let content = bytes(1_000_000)
            try await client.put("app/a", S3Body(content))
            // Each of them sends a half of the rest, so none is the third without progress.
            try await store.fail(.cut, times: 5, method: "GET")
            let read = try await read(client, "app/a", 0..<1_000_000)
            #expect(read == content)
            let requests = try await store.requests().filter { $0 == "GET app/a" }
            #expect(requests.count == 6)
        }
    }

    @Test func aResponseWithoutARangeIsNotTaken() async throws {
        try await withObjectStore { store in
            let client = try client(store)
            try await client.put("app/a", S3Body([1, 2, 3]))
            try await store.fail(.whole, method: "GET")
            let failure = try await failure { _ = try await read(client, "app/a", 1..<3) }
            #expect(failure.kind == .refused)
        }
    }

    @Test func whatIsRefusedIsNotTriedAgain() async throws {
        try await withObjectStore { store in
            let record = Record()
            let client = try client(store, record)
            let rows: [(S3Client, TemporaryObjectStore.Fault?, String, S3Failure.Kind)] = [
                (try self.client(store, record, accessKey: "another"), nil, "InvalidAccessKeyId", .refused),
                (try self.client(store, record, secretKey: "another"), nil, "SignatureDoesNotMatch", .refused),
                (try self.client(store, record, name: "another"), nil, "NoSuchBucket", .refused),
                (client, .skewed, "RequestTimeTooSkewed", .refused), (client, .full, "XMinioStorageFull", .full),
            ]
            for (client, fault, code, kind) in rows {
                if let fault { try await store.fail(fault) }
                let failure = try await failure { _ = try await client.objects(prefix: "app/") }
                #expect(failure.code == code && failure.kind == kind, "\(failure)")
                #expect(!failure.description.contains(TemporaryObjectStore.secretKey))
                #expect(record.takeOutcomes() == ["ListObjectsV2 \(kind.rawValue)"])
            }
        }
    }

    @Test func aCompletionWhoseResponseIsLostHasSucceeded() async throws {
        try await withObjectStore { store in
            let client = try client(store)
            let upload = try await client.beginUpload("app/a")
            let tag = try await client.putPart("app/a", upload, number: 1, S3Body([1, 2, 3]))
            try await store.fail(.lost, method: "POST")
            try await client.completeUpload("app/a", upload, tags: [tag], size: 3)
            let again = try await failure {
                try await client.completeUpload("app/a", upload, tags: [tag], size: 4)
            }
            #expect(again.code == "NoSuchUpload")
        }
    }

    @Test func aCompletionThatFailsBehindItsStatusIsTriedAgain() async throws {
        try await withObjectStore { store in
            let record = Record()
            let client = try client(store, record)
            let upload = try await client.beginUpload("app/a")
            let tag = try await client.putPart("app/a", upload, number: 1, S3Body([1, 2, 3]))
            _ = record.takeOutcomes()
            try await store.fail(.late, method: "POST")
            try await client.completeUpload("app/a", upload, tags: [tag], size: 3)
            #expect(record.takeOutcomes() == ["CompleteMultipartUpload unavailable", "CompleteMultipartUpload ok"])
        }
    }

    @Test func aReaderThatFailsEndsTheTransfer() async throws {
        struct Stop: Error {}
        try await withObjectStore { store in
            let record = Record()
            let client = try client(store, record)
            try await client.put("app/a", S3Body(bytes(2_000_000)))
            _ = record.takeOutcomes()
            await #expect(throws: Stop.self) {
                try await client.get("app/a", 0..<2_000_000) { _ in throw Stop() }
            }
            #expect(record.takeOutcomes() == ["GetObject cancelled"])
        }
    }

    @Test func aStoreThatIsAwayIsNamed() async throws {
        let endpoint = try await withObjectStore { $0.endpoint }
        let bucket = S3Bucket(
            "files",
            at: endpoint,
            region: "x",
            accessKey: "key",
            secretKey: "secret",
            usesPathStyle: true
        )
        let record = Record()
        let client = try S3Client(
            try #require(bucket),
            now: { Timestamp(microseconds: 0) },
            sleep: { pause in record.pauses.withLock { $0.append(pause) } }
        )
        let failure = try await failure { _ = try await client.size(of: "app/a") }
        #expect(failure.kind == .unavailable)
        #expect(failure.description.hasPrefix("HeadObject did not reach the store at 127.0.0.1:"))
        #expect(record.pauses.withLock(\.count) == 2)
    }
}
