import SkyrowConcurrency
import SkyrowCrypto
import SkyrowJSON
import SkyrowModel
import SkyrowProtocol
import SkyrowStore
import SkyrowTestSupport
import Testing

@testable import SkyrowActions

/// Uploads that are interrupted, continued, repeated and given up.
@Suite struct ResumableUploadTests {
    private static let png = FilesFixture.png
    private static let metadata = "filename Y2F0LnBuZw==,filetype aW1hZ2UvcG5n"
    private static let lost = SkyrowError(.responseTimeout, "The client has left.")

    /// The bytes of a request.
    ///
    /// - Parameter error: why they end early.
    private static func part(
        _ bytes: some Sequence<UInt8>,
        length: Int64? = nil,
        _ checksum: TusChecksum? = nil,
        error: SkyrowError? = nil
    ) -> UploadPart {
        let bytes = Array(bytes)
        return UploadPart(length: length, checksum: checksum) { append async throws(SkyrowError) in
            if !bytes.isEmpty { try await append(bytes) }
            if let error { throw error }
        }
    }

    private static func sha1(_ bytes: some Sequence<UInt8>) throws -> TusChecksum {
        try TusChecksum("sha1 " + encodeBase64(SHA1Digest.digest(of: Array(bytes))))
    }

    private static func create(
        _ files: FilesFixture,
        _ metadata: String = ResumableUploadTests.metadata,
        length: Int = FilesFixture.png.count,
        part: UploadPart = .empty,
        by sender: Sender
    ) async throws(SkyrowError) -> UploadStatus {
        let metadata = try UploadMetadata(metadata)
        return try await files.service.createUpload(
            length: Int64(length),
            metadata,
            part,
            from: sender,
            id: FilesFixture.id
        )
    }

    private static func status(
        _ upload: UploadStatus,
        _ files: FilesFixture,
        by sender: Sender
    ) async throws(SkyrowError) -> UploadStatus {
        try await files.service.uploadStatus(upload.id, from: sender, id: FilesFixture.id)
    }

    @discardableResult
    private static func add(
        _ part: UploadPart,
        at offset: Int64,
        to upload: UploadStatus,
        _ files: FilesFixture,
        by sender: Sender
    ) async throws(SkyrowError) -> UploadStatus {
        try await files.service.continueUpload(upload.id, at: offset, part, from: sender, id: FilesFixture.id)
    }

    /// The reason or the name of the error, or `OK`.
    private static func summary<Success>(_ body: () async throws(SkyrowError) -> Success) async -> String {
        do throws(SkyrowError) {
            _ = try await body()
            return "OK"
        } catch {
            return TusRefusal(error)?.rawValue ?? error.code.name
        }
    }

    // MARK: - In parts

    @Test func aFileArrivesInParts() async throws {
        try await withFiles { files in
            let ann = try await files.user("ann").sender
            let upload = try await Self.create(files, by: ann)
            #expect(upload.offset == 0 && upload.length == 11 && upload.metadata == Self.metadata)
            #expect(upload.uploaded == nil)
            var status = try await Self.add(Self.part(Self.png.prefix(5), length: 5), at: 0, to: upload, files, by: ann)
            #expect(status.offset == 5 && status.uploaded == nil)
            status = try await Self.status(upload, files, by: ann)
            #expect(status.offset == 5 && status.uploaded == nil && status.metadata == Self.metadata)
            #expect(files.storage.names.isEmpty && files.storage.incoming == 0)
            let last = try await Self.add(Self.part(Self.png.dropFirst(5)), at: 5, to: upload, files, by: ann)
            let uploaded = try #require(last.uploaded)
            #expect(last.offset == 11 && files.storage[uploaded.asset.name] == Self.png)
            #expect(uploaded.asset.filename == "cat.png" && uploaded.asset.contentType == "image/png")
            let row = try await files.base.psql(
                "SELECT state, storage, size, sniffed, sha256 = sha256('\\x89504e470d0a1a0a010203') FROM _asset"
            )
            #expect(row == "stored|memory|11|image/png|t")
            // A lost response can be asked for again.
            status = try await Self.status(upload, files, by: ann)
            #expect(status.offset == 11 && status.uploaded?.asset.name == uploaded.asset.name)
            status = try await Self.add(.empty, at: 11, to: upload, files, by: ann)
            #expect(status.uploaded?.asset.name == uploaded.asset.name)
            let earlier = await Self.summary { () async throws(SkyrowError) in
                try await Self.add(Self.part(Self.png), at: 0, to: upload, files, by: ann)
            }
            #expect(earlier == "offset")
            #expect(files.base.observations.count { $0 == .fileTransferred(.upload, nil) } == 1)
            #expect(files.base.observations.count { $0 == .fileBytes(.upload, 11) } == 1)
            #expect(files.service.files?.isUnused == true)
        }
    }

    @Test func theFirstPartMayBeTheWholeFile() async throws {
        try await withFiles { files in
            let ann = try await files.user("ann").sender
            let upload = try await Self.create(files, part: Self.part(Self.png, length: 11), by: ann)
            #expect(upload.offset == 11)
            let name = try #require(upload.uploaded?.asset.name)
            #expect(files.storage[name] == Self.png && files.storage.incoming == 0)
            // Its client does not know the address of one that fails.
            let wrong = try Self.sha1([1])
            for part in [Self.part(Self.png.prefix(5), error: Self.lost), Self.part(Self.png, wrong)] {
                let error = await Self.summary { () async throws(SkyrowError) in
                    try await Self.create(files, part: part, by: ann)
                }
                #expect(["ResponseTimeout", "checksum"].contains(error))
            }
            #expect(try await files.base.psql("SELECT count(*) FROM _upload") == "1")
            #expect(files.storage.suspended.isEmpty && files.storage.incoming == 0)
            #expect(files.service.files?.isUnused == true)
        }
    }

    @Test func whatHasArrivedIsKeptUnlessItHasAChecksum() async throws {
        try await withFiles { files in
            let ann = try await files.user("ann").sender
            let upload = try await Self.create(files, by: ann)
            func add(_ part: UploadPart, at offset: Int64) async -> String {
                await Self.summary { () async throws(SkyrowError) in
                    try await Self.add(part, at: offset, to: upload, files, by: ann)
                }
            }
            #expect(await add(Self.part(Self.png.prefix(4), error: Self.lost), at: 0) == "ResponseTimeout")
            #expect(try await Self.status(upload, files, by: ann).offset == 4)
            let next = Self.png[4..<8]
            let checksum = try Self.sha1(next)
            #expect(await add(Self.part(next.prefix(2), checksum, error: Self.lost), at: 4) == "ResponseTimeout")
            #expect(await add(Self.part(next.reversed(), checksum), at: 4) == "checksum")
            #expect(try await Self.status(upload, files, by: ann).offset == 4)
            #expect(await add(Self.part(next, checksum), at: 4) == "OK")
            // Too much, which the head says or only the bytes show.
            #expect(await add(Self.part(Self.png, length: 11), at: 8) == "AssetSizeTooLarge")
            #expect(await add(Self.part(Self.png), at: 8) == "AssetSizeTooLarge")
            for offset in [0, 4, 7, 9, 11, .max] as [Int64] {
                #expect(await add(Self.part([1]), at: offset) == "offset")
            }
            #expect(await add(Self.part(Self.png.dropFirst(8)), at: 8) == "OK")
            let name = try #require(try await Self.status(upload, files, by: ann).uploaded?.asset.name)
            #expect(files.storage[name] == Self.png)
            #expect(files.service.files?.isUnused == true)
        }
    }

    // MARK: - Who continues an upload

    @Test func onlyItsUploaderContinuesAnUpload() async throws {
        try await withFiles(uploads: .key) { files in
            let ann = try await files.user("ann").sender
            let bob = try await files.user("bob").sender
            let token = Sender(credentials: Credentials(accessToken: ann.credentials.accessToken), client: .none)
            let hers = try await Self.create(files, by: ann)
            let open = try await Self.create(files, by: FilesFixture.key)
            let rows: [(UploadStatus, Sender, String)] = [
                (hers, ann, "OK"), (hers, token, "OK"), (hers, FilesFixture.master, "OK"),
                (hers, bob, "ResourceNotFound"), (hers, FilesFixture.key, "ResourceNotFound"),
                (hers, FilesFixture.nobody, "NotAuthenticated"), (open, FilesFixture.key, "OK"),
                (open, token, "ResourceNotFound"), (open, FilesFixture.nobody, "NotAuthenticated"),
            ]
            for (upload, sender, expected) in rows {
                let asked = await Self.summary { () async throws(SkyrowError) in
                    try await Self.status(upload, files, by: sender)
                }
                let added = await Self.summary { () async throws(SkyrowError) in
                    try await Self.add(.empty, at: 0, to: upload, files, by: sender)
                }
                #expect(asked == expected && added == expected, "\(sender.credentials)")
                guard expected != "OK" else { continue }
                let removed = await Self.summary { () async throws(SkyrowError) in
                    try await files.service.removeUpload(upload.id, from: sender, id: FilesFixture.id)
                }
                #expect(removed == expected)
            }
            let unknown = await Self.summary { () async throws(SkyrowError) in
                let id = UploadID(uuid: UUIDText().description)
                return try await files.service.uploadStatus(id, from: ann, id: FilesFixture.id)
            }
            #expect(unknown == "ResourceNotFound")
        }
    }

    @Test func whatIsNoUploadIsRefusedAtItsBeginning() async throws {
        let types = try #require(FileTypes("image/*"))
        try await withFiles(types: types) { files in
            let ann = try await files.user("ann").sender
            let rows: [(String, Int, Sender, String)] = [
                (Self.metadata, 1001, ann, "AssetSizeTooLarge"), (Self.metadata, 0, ann, "InvalidArgument"),
                ("", 5, ann, "InvalidArgument"), ("filename", 5, ann, "InvalidArgument"),
                ("filename YS50eHQ=,filetype dGV4dC9wbGFpbg==", 5, ann, "InvalidArgument"),
                (Self.metadata, 5, FilesFixture.key, "NotAuthenticated"),
                (Self.metadata, 5, FilesFixture.nobody, "NotAuthenticated"),
            ]
            for (metadata, length, sender, expected) in rows {
                let found = await Self.summary { () async throws(SkyrowError) in
                    try await Self.create(files, metadata, length: length, by: sender)
                }
                #expect(found == expected, "\(metadata) \(length)")
            }
            // A type that only the bytes show ends the upload.
            let upload = try await Self.create(files, "filename YS5iaW4=", length: 9, by: ann)
            let found = await Self.summary { () async throws(SkyrowError) in
                try await Self.add(Self.part(FilesFixture.text), at: 0, to: upload, files, by: ann)
            }
            #expect(found == "InvalidArgument")
            #expect(try await files.base.psql("SELECT count(*) FROM _upload") == "0")
            #expect(try await files.base.psql("SELECT count(*) FROM _asset") == "0")
            #expect(files.storage.suspended.isEmpty && files.storage.incoming == 0)
            #expect(files.service.files?.isUnused == true)
        }
    }

    // MARK: - Several requests at once

    @Test func aNewerRequestEndsAnOlderOne() async throws {
        try await withFiles { files in
            let ann = try await files.user("ann").sender
            let upload = try await Self.create(files, by: ann)
            let hasBegun = Deferred<Void>()
            let stalled = UploadPart(length: nil, checksum: nil) { append async throws(SkyrowError) in
                try await append(Array(Self.png.prefix(5)))
                hasBegun.settle()
                await Deferred<Void>().value(ifCancelled: ())
                throw Self.lost
            }
            async let older = Self.summary { () async throws(SkyrowError) in
                try await Self.add(stalled, at: 0, to: upload, files, by: ann)
            }
            await hasBegun.value()
            // What the older one had is kept.
            #expect(try await Self.status(upload, files, by: ann).offset == 5)
            #expect(await older == "ResponseTimeout")
            let last = try await Self.add(Self.part(Self.png.dropFirst(5)), at: 5, to: upload, files, by: ann)
            #expect(last.uploaded != nil)
            #expect(files.service.files?.isUnused == true)
        }
    }

    @Test func anotherProcessIsAskedToEnd() async throws {
        try await withFiles { files in
            let ann = try await files.user("ann").sender
            let upload = try await Self.create(files, by: ann)
            try await files.base.psql("UPDATE _upload SET leased_until = now() + interval '1 hour'")
            func status() async -> String {
                await Self.summary { () async throws(SkyrowError) in try await Self.status(upload, files, by: ann) }
            }
            // The clock of the test has no time to wait.
            #expect(await status() == "busy")
            #expect(try await files.base.psql("SELECT is_wanted, lease FROM _upload") == "t|1")
            // The other one has crashed.
            try await files.base.psql("UPDATE _upload SET leased_until = now()")
            #expect(await status() == "OK")
            #expect(try await files.base.psql("SELECT is_wanted, leased_until IS NULL FROM _upload") == "f|t")
        }
    }

    @Test func aRequestThatHasLostItsLeaseRecordsNothing() async throws {
        try await withFiles { files in
            let ann = try await files.user("ann").sender
            let upload = try await Self.create(files, by: ann)
            for bytes in [Self.png[..<5], Self.png[...]] {
                let slow = UploadPart(length: nil, checksum: nil) { append async throws(SkyrowError) in
                    _ = try? await files.base.psql("UPDATE _upload SET lease = lease + 1, leased_until = NULL")
                    try await append(Array(bytes))
                }
                let found = await Self.summary { () async throws(SkyrowError) in
                    try await Self.add(slow, at: 0, to: upload, files, by: ann)
                }
                #expect(found == "busy")
                #expect(try await Self.status(upload, files, by: ann).offset == 0)
            }
            #expect(files.storage.names.isEmpty)
            #expect(files.service.files?.isUnused == true)
        }
    }

    @Test func uploadsInProgressAreCounted() async throws {
        try await withFiles { files in
            let ann = try await files.user("ann").sender
            let upload = try await Self.create(files, by: ann)
            var others: [Upload] = []
            for _ in 0..<8 { others.append(try await files.begin(by: ann)) }
            let part = await Self.summary { () async throws(SkyrowError) in
                try await Self.add(Self.part([1]), at: 0, to: upload, files, by: ann)
            }
            let new = await Self.summary { () async throws(SkyrowError) in try await Self.create(files, by: ann) }
            #expect(part == "RateLimited" && new == "RateLimited")
            // A question takes no place.
            #expect(try await Self.status(upload, files, by: ann).offset == 0)
            for other in others { await other.discard() }
            #expect(try await Self.add(Self.part([0x89]), at: 0, to: upload, files, by: ann).offset == 1)
            #expect(files.service.files?.isUnused == true)
        }
    }

    // MARK: - Faults

    @Test(arguments: [FileFault.noSpace, .unavailable("the disk is away")])
    func anEndThatFailsIsTriedAgainWithTheLastByte(_ fault: FileFault) async throws {
        try await withFiles { files in
            let ann = try await files.user("ann").sender
            let upload = try await Self.create(files, by: ann)
            files.storage.fail(at: .keep, with: fault)
            let found = await Self.summary { () async throws(SkyrowError) in
                try await Self.add(Self.part(Self.png), at: 0, to: upload, files, by: ann)
            }
            #expect(found == "Overloaded")
            #expect(try await Self.status(upload, files, by: ann).offset == 10)
            files.storage.fail(at: .keep, with: nil)
            let last = try await Self.add(Self.part(Self.png.suffix(1)), at: 10, to: upload, files, by: ann)
            let name = try #require(last.uploaded?.asset.name)
            #expect(files.storage[name] == Self.png)
            #expect(files.service.files?.isUnused == true)
        }
    }

    /// As after a crash between the file and its row.
    @Test func aFileThatHasItsNameIsMarkedAsStored() async throws {
        try await withFiles { files in
            let ann = try await files.user("ann").sender
            let upload = try await Self.create(files, by: ann)
            files.storage.fail(at: .kept, with: .unavailable("a crash"))
            let found = await Self.summary { () async throws(SkyrowError) in
                try await Self.add(Self.part(Self.png), at: 0, to: upload, files, by: ann)
            }
            #expect(found == "Overloaded")
            #expect(try await files.base.psql("SELECT state FROM _asset") == "expected")
            files.storage.fail(at: .kept, with: nil)
            let status = try await Self.status(upload, files, by: ann)
            let name = try #require(status.uploaded?.asset.name)
            #expect(status.offset == 11 && files.storage[name] == Self.png)
            let row = "SELECT state, sniffed, sha256 = sha256('\\x89504e470d0a1a0a010203') FROM _asset"
            #expect(try await files.base.psql(row) == "stored|image/png|t")
            #expect(files.service.files?.isUnused == true)
        }
    }

    @Test func aFaultWhileBytesArriveKeepsThoseBefore() async throws {
        try await withFiles { files in
            let ann = try await files.user("ann").sender
            let upload = try await Self.create(files, by: ann)
            try await Self.add(Self.part(Self.png.prefix(3)), at: 0, to: upload, files, by: ann)
            files.storage.fail(at: .begin, with: .noSpace)
            let found = await Self.summary { () async throws(SkyrowError) in
                try await Self.add(Self.part(Self.png.dropFirst(3)), at: 3, to: upload, files, by: ann)
            }
            #expect(found == "Overloaded")
            files.storage.fail(at: .begin, with: nil)
            #expect(try await Self.status(upload, files, by: ann).offset == 3)
            #expect(files.service.files?.isUnused == true)
        }
    }

    @Test func anUploadWhoseBytesAreGoneDoesNotExist() async throws {
        try await withFiles { files in
            let ann = try await files.user("ann").sender
            let upload = try await Self.create(files, by: ann)
            _ = try await files.storage.sweep(olderThan: .zero) { _ in [] }
            let found = await Self.summary { () async throws(SkyrowError) in
                try await Self.status(upload, files, by: ann)
            }
            #expect(found == "ResourceNotFound")
            #expect(try await files.base.psql("SELECT count(*) FROM _asset") == "0")
            #expect(files.service.files?.isUnused == true)
        }
    }

    // MARK: - The end without a file

    @Test func aRemovedUploadIsGone() async throws {
        try await withFiles { files in
            let ann = try await files.user("ann").sender
            let running = try await Self.create(files, by: ann)
            try await Self.add(Self.part(Self.png.prefix(3)), at: 0, to: running, files, by: ann)
            let stored = try await Self.create(files, part: Self.part(Self.png), by: ann)
            for upload in [running, stored] {
                try await files.service.removeUpload(upload.id, from: ann, id: FilesFixture.id)
                let found = await Self.summary { () async throws(SkyrowError) in
                    try await files.service.removeUpload(upload.id, from: ann, id: FilesFixture.id)
                }
                #expect(found == "ResourceNotFound")
            }
            #expect(files.storage.suspended.isEmpty && files.storage.incoming == 0)
            // The file of the complete one stays.
            let name = try #require(stored.uploaded?.asset.name)
            #expect(try await files.base.psql("SELECT name FROM _asset") == "\(name)")
            #expect(files.storage.names == [name])
            #expect(files.service.files?.isUnused == true)
        }
    }

    @Test func anUploadIsSweptWhenItsDayIsOver() async throws {
        try await withFiles { files in
            let ann = try await files.user("ann").sender
            let upload = try await Self.create(files, by: ann)
            _ = try await Self.create(files, part: Self.part(Self.png), by: ann)
            await files.service.sweepFiles()
            #expect(files.storage.suspended.count == 1)
            #expect(try await Self.status(upload, files, by: ann).offset == 0)
            try await files.base.psql(
                """
                UPDATE _asset SET expires_at = now() - interval '1 s' WHERE state = 'expected';
                UPDATE _asset SET stored_at = now() - interval '1 day' WHERE state = 'stored'
                """
            )
            let found = await Self.summary { () async throws(SkyrowError) in
                try await Self.status(upload, files, by: ann)
            }
            #expect(found == "ResourceNotFound")
            await files.service.sweepFiles()
            #expect(files.storage.suspended.isEmpty && files.storage.names.count == 1)
            #expect(try await files.base.psql("SELECT count(*) FROM _upload") == "0")
        }
    }
}
