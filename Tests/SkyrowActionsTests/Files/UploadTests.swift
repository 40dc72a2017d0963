import SkyrowCrypto
import SkyrowJSON
import SkyrowModel
import SkyrowProtocol
import SkyrowStore
import SkyrowTestSupport
import Testing

@testable import SkyrowActions

@Suite struct UploadTests {
    private static let png = FilesFixture.png

    @Test func aFileIsStoredBeforeTheResponse() async throws {
        try await withFiles { files in
            let ann = try await files.user("ann")
            let upload = try await files.begin("Kätzchen 1.png", nil, length: Self.png.count, by: ann.sender)
            try await upload.append(Array(Self.png.prefix(3)))
            #expect(files.storage.names.isEmpty && files.storage.incoming == 1)
            try await upload.append(Array(Self.png.dropFirst(3)))
            let uploaded = try await upload.finish()
            let name = uploaded.asset.name
            #expect(name.filename == "K_tzchen_1.png" && uploaded.asset.filename == "Kätzchen 1.png")
            #expect(uploaded.asset.contentType == "image/png" && uploaded.asset.state == .stored)
            #expect(files.storage[name] == Self.png)
            let row = try await files.base.psql(
                "SELECT state, storage, size, filename, content_type, owner, sha256 = sha256('\\x89504e470d0a1a0a010203') FROM _asset"
            )
            let owner = try #require(ann.caller.userID)
            #expect(row == "stored|memory|11|Kätzchen 1.png|image/png|\(owner)|t")
            let writer = JSONWriter()
            uploaded.write(to: writer)
            #expect(
                writer.jsonText
                    == JSONText(
                        validated: Array(
                            #"""
                            {"$type":"asset","$name":"\#(name)","$content_type":"image/png","$size":11,"$url":"\#(uploaded.url)"}
                            """#.utf8
                        )
                    )
            )
            #expect(uploaded.url.hasPrefix("https://files.example/files/\(name)?expiredAt="))
            let signature = try FileSignature(of: uploaded.url)
            let read = try await files.download(name, signature, by: FilesFixture.nobody)
            #expect(read.bytes == Self.png)
            #expect(files.base.observations.count { $0 == .fileTransferred(.upload, nil) } == 1)
            #expect(files.base.observations.count { $0 == .fileBytes(.upload, 11) } == 1)
        }
    }

    @Test(arguments: UploadAudience.allCases) func whoUploadsIsASetting(_ audience: UploadAudience) async throws {
        try await withFiles(uploads: audience) { files in
            let ann = try await files.user("ann")
            let admin = try await files.user("admin")
            let name = try #require(admin.caller.userID)
            try await files.service.run(
                Actions.roleAssign,
                RoleAssignment(roles: ["Admin"], users: [name]),
                by: ServiceFixture.masterCaller
            )
            let wrong = Sender(credentials: Credentials(key: "wrong"), client: .none)
            let senders = [wrong, FilesFixture.nobody, FilesFixture.key, ann.sender, admin.sender, FilesFixture.master]
            var direct: [String] = []
            for sender in senders {
                direct.append(
                    await files.summary { () async throws(SkyrowError) in
                        try await files.upload(by: sender)
                    }
                )
            }
            let refused = ["AccessKeyNotAccepted", "NotAuthenticated"]
            let expected =
                switch audience {
                case .user: ["NotAuthenticated", "OK", "OK", "OK"]
                case .key: ["OK", "OK", "OK", "OK"]
                case .administrator: ["NotAuthenticated", "PermissionDenied", "OK", "OK"]
                }
            #expect(direct == refused + expected)
            // The same for announcements.
            var announced: [String] = []
            for caller in [.anonymous, ann.caller, ServiceFixture.masterCaller] {
                announced.append(
                    await files.summary { () async throws(SkyrowError) in
                        try await files.announce(by: caller)
                    }
                )
            }
            #expect(announced == [expected[0], expected[1], "OK"])
        }
    }

    @Test func anAnnouncedFileNeedsItsSignatureOrItsUploader() async throws {
        try await withFiles(uploads: .key) { files in
            let ann = try await files.user("ann")
            let bob = try await files.user("bob")
            let announced = try await files.announce(by: ann.caller)
            let name = announced.file.asset.name
            let path = announced.request.action
            #expect(path.hasPrefix("/files/\(name)?expiredAt=") && announced.request.fields.isEmpty)
            let signature = try FileSignature(of: path)
            let ofDownload = try FileSignature(of: try #require(announced.file.asset.url))
            let unknown = AssetName(id: "00000000-0000-4000-8000-000000000000", filename: "cat.png")
            func begin(
                _ name: AssetName,
                _ signature: FileSignature?,
                _ length: Int?,
                _ sender: Sender
            ) async -> String {
                do throws(SkyrowError) {
                    let upload = try await files.begin(name, signature, length: length, by: sender)
                    await upload.discard()
                    return "OK"
                } catch {
                    return error.code.name
                }
            }
            let rows: [(AssetName, FileSignature?, Int?, Sender, String)] = [
                (name, signature, nil, FilesFixture.nobody, "OK"),
                (name, signature, 11, FilesFixture.nobody, "OK"),
                (name, signature, 10, FilesFixture.nobody, "InvalidArgument"),
                (name, signature, 12, FilesFixture.nobody, "AssetSizeTooLarge"),
                (name, ofDownload, nil, ann.sender, "InvalidSignature"),
                (unknown, signature, nil, FilesFixture.nobody, "InvalidSignature"),
                (name, FileSignature(expiredAt: "1", signature: "x"), nil, ann.sender, "PermissionDenied"),
                (name, FileSignature(expiredAt: "x", signature: "x"), nil, ann.sender, "InvalidArgument"),
                (name, nil, nil, ann.sender, "OK"),
                (name, nil, nil, FilesFixture.master, "OK"),
                (name, nil, nil, bob.sender, "ResourceNotFound"),
                (name, nil, nil, FilesFixture.key, "ResourceNotFound"),
                (unknown, nil, nil, ann.sender, "ResourceNotFound"),
                (name, nil, nil, FilesFixture.nobody, "NotAuthenticated"),
            ]
            for (name, signature, length, sender, expected) in rows {
                let found = await begin(name, signature, length, sender)
                #expect(found == expected, "\(sender.credentials)")
            }
            #expect(files.service.uploadIsSigned(name, signature))
            #expect(
                !files.service.uploadIsSigned(name, ofDownload) && !files.service.uploadIsSigned(unknown, signature)
            )
            // A file without an uploader takes a key.
            let open = try await files.announce(by: .anonymous).file.asset.name
            #expect(await begin(open, nil, nil, FilesFixture.key) == "OK")
            let token = Sender(credentials: Credentials(accessToken: ann.sender.credentials.accessToken), client: .none)
            #expect(await begin(open, nil, nil, token) == "ResourceNotFound")
            #expect(files.storage.incoming == 0 && files.service.files?.isUnused == true)
        }
    }

    @Test func aSecondUploadOfAFileIsRefused() async throws {
        try await withFiles { files in
            let ann = try await files.user("ann")
            let announced = try await files.announce(by: ann.caller)
            let name = announced.file.asset.name
            let other = Array(Self.png.reversed())
            let late = try await files.begin(name, by: ann.sender)
            try await late.append(other)
            let first = try await files.begin(name, by: ann.sender)
            try await first.append(Self.png)
            #expect(try await first.finish().asset.name == name)
            // Also one that had begun before.
            try await expectError(.duplicated) { try await late.finish() }
            try await expectError(.duplicated) { try await files.begin(name, by: ann.sender) }
            #expect(files.storage[name] == Self.png && files.storage.incoming == 0)
        }
    }

    @Test func ofTwoUploadsThatEndAtOnceOneIsStored() async throws {
        try await withFiles { files in
            let ann = try await files.user("ann")
            let name = try await files.announce(by: ann.caller).file.asset.name
            let (first, second) = (
                try await files.begin(name, by: ann.sender), try await files.begin(name, by: ann.sender)
            )
            try await first.append(Self.png)
            try await second.append(Array(Self.png.reversed()))
            let outcome = Counter()
            files.storage.onKeep { _ in
                // While the first one is being stored.
                do throws(SkyrowError) {
                    _ = try await second.finish()
                } catch {
                    if error.code == .duplicated { outcome.increment() }
                }
            }
            _ = try await first.finish()
            #expect(outcome.value == 1 && files.storage[name] == Self.png && files.storage.incoming == 0)
        }
    }

    @Test func theBytesAreComparedWithTheAnnouncementAndChecksums() async throws {
        try await withFiles { files in
            let ann = try await files.user("ann")
            let sha256 = SHA256.hash(of: "some text").bytes
            let md5: [UInt8] = [
                0x55, 0x2E, 0x21, 0xCD, 0x4C, 0xD9, 0x91, 0x86, 0x78, 0xE3, 0xC1, 0xA0, 0xDF, 0x49, 0x1B, 0xC3,
            ]
            let wrong = UploadChecks(sha256: [UInt8](repeating: 0, count: 32))
            let rows: [(Int?, UploadChecks, String)] = [
                (nil, UploadChecks(), "OK"), (9, UploadChecks(md5: md5, sha256: sha256), "OK"),
                (nil, UploadChecks(md5: Array(md5.reversed())), "InvalidArgument"), (nil, wrong, "InvalidArgument"),
                (nil, UploadChecks(sha256: []), "InvalidArgument"), (10, UploadChecks(), "InvalidArgument"),
                (8, UploadChecks(), "AssetSizeTooLarge"), (1001, UploadChecks(), "AssetSizeTooLarge"),
                (0, UploadChecks(), "InvalidArgument"),
            ]
            for (length, checks, expected) in rows {
                let found = await files.summary { () async throws(SkyrowError) in
                    let upload = try await files.begin("a.txt", "text/plain", length: length, by: ann.sender)
                    try await upload.append(FilesFixture.text)
                    return try await upload.finish(checks)
                }
                #expect(found == expected, "\(length as Any)")
            }
            #expect(files.storage.names.count == 2 && files.storage.incoming == 0)
            #expect(files.service.files?.isUnused == true)
            #expect(try await files.base.psql("SELECT count(*) FROM _asset") == "2")
        }
    }

    @Test func theTypeOfAPartAndTheAcceptedTypesCount() async throws {
        let types = try #require(FileTypes("image/*,text/csv"))
        try await withFiles(types: types) { files in
            let ann = try await files.user("ann")
            try await expectError(.invalidArgument) {
                try await files.announce("a.txt", "text/plain", size: 9, by: ann.caller)
            }
            let announced = try await files.announce("table", "application/octet-stream", size: 9, by: ann.caller)
            let upload = try await files.begin(announced.file.asset.name, by: ann.sender)
            try await upload.append(FilesFixture.text)
            #expect(try await upload.finish(UploadChecks(contentType: "text/csv")).asset.contentType == "text/csv")
            let other = try await files.begin("a.txt", "text/plain", by: ann.sender)
            try await other.append(FilesFixture.text)
            try await expectError(.invalidArgument) { try await other.finish() }
            #expect(files.storage.names.count == 1 && files.storage.incoming == 0)
        }
    }

    // MARK: Faults

    @Test(
        arguments: [MemoryFileStorage.Step.begin, .append, .keep],
        [FileFault.noSpace, .unavailable("the disk is away")]
    ) func aFaultOfTheStorageKeepsNothing(_ step: MemoryFileStorage.Step, _ fault: FileFault) async throws {
        try await withFiles { files in
            let ann = try await files.user("ann")
            files.storage.fail(at: step, with: fault)
            let error = try await expectError(.overloaded) { try await files.upload(by: ann.sender) }
            #expect(error?.isStorageFull == (fault == .noSpace) && error?.message.contains("disk is away") == false)
            #expect(files.storage.names.isEmpty && files.storage.incoming == 0)
            #expect(files.service.files?.isUnused == true)
            #expect(files.base.observations.count { $0 == .fileTransferred(.upload, .overloaded) } == 1)
            #expect(files.base.observations.count { $0 == .fileStorageFailed(fault.reason) } == 1)
            files.storage.fail(at: step, with: nil)
            let name = try await files.upload(by: ann.sender)
            #expect(files.storage[name] == Self.png)
        }
    }

    /// As after a crash between the file and its row.
    @Test func aFileWithoutARowThatSaysSoIsUploadedAgainOrSwept() async throws {
        try await withFiles { files in
            let ann = try await files.user("ann")
            let name = try await files.announce(by: ann.caller).file.asset.name
            files.storage.fail(at: .kept, with: .unavailable("a crash"))
            for named in [true, false] {
                let upload = try await named ? files.begin(name, by: ann.sender) : files.begin(by: ann.sender)
                try await upload.append(Self.png)
                try await expectError(.overloaded) { try await upload.finish() }
            }
            // The direct upload has a row, too.
            #expect(files.storage.names.count == 2)
            #expect(try await files.base.psql("SELECT DISTINCT state, count(*) FROM _asset GROUP BY 1") == "expected|2")
            #expect(await files.reading(name, by: ann.sender) == "ResourceNotFound")
            files.storage.fail(at: .kept, with: nil)
            let again = try await files.begin(name, by: ann.sender)
            try await again.append(Array(Self.png.reversed()))
            _ = try await again.finish()
            #expect(files.storage[name] == Array(Self.png.reversed()))
            // A day later.
            await files.service.sweepFiles()
            #expect(files.storage.names.count == 2)
            try await files.base.psql("UPDATE _asset SET expires_at = now() - interval '1 s' WHERE state = 'expected'")
            await files.service.sweepFiles()
            #expect(files.storage.names == [name])
            #expect(try await files.base.psql("SELECT name FROM _asset") == "\(name)")
            #expect(try await files.base.psql("SELECT count(*) FROM _garbage") == "0")
            #expect(files.storage.sweeps == [.seconds(86_400), .seconds(86_400)])
        }
    }

    @Test func aFileWhoseRowExpiredMeanwhileIsDeleted() async throws {
        try await withFiles { files in
            let ann = try await files.user("ann")
            let name = try await files.announce(by: ann.caller).file.asset.name
            let upload = try await files.begin(name, by: ann.sender)
            try await upload.append(Self.png)
            files.storage.onKeep { name in
                _ = try? await files.base.psql("DELETE FROM _asset WHERE name = '\(name)'")
            }
            try await expectError(.resourceNotFound) { try await upload.finish() }
            #expect(files.storage.names.isEmpty && files.storage.incoming == 0)
        }
    }

    @Test func whatFailsToBeDeletedIsDeletedLater() async throws {
        try await withFiles { files in
            let ann = try await files.user("ann")
            let name = try await files.upload(by: ann.sender)
            files.storage.fail(at: .delete, with: .unavailable("away"))
            let deletion = FileDeletion(names: [name])
            #expect(try await files.service.run(Actions.fileDelete, deletion, by: ann.caller) == 1)
            #expect(files.storage.names == [name])
            #expect(await files.reading(name, by: ann.sender) == "ResourceNotFound")
            files.storage.fail(at: .delete, with: nil)
            await files.service.sweepFiles()
            #expect(files.storage.names.isEmpty)
        }
    }

    // MARK: Bounds

    @Test func aUserHasEightUploadsAtOnce() async throws {
        try await withFiles(uploads: .key) { files in
            let ann = try await files.user("ann")
            let bob = try await files.user("bob")
            var uploads: [Upload] = []
            for _ in 0..<8 { uploads.append(try await files.begin(by: ann.sender)) }
            // Also from elsewhere, and of announced files with a signature.
            try await expectError(.rateLimited) { try await files.begin(by: ann.sender.from(7)) }
            let announced = try await files.announce(by: ann.caller)
            let signature = try FileSignature(of: announced.request.action)
            try await expectError(.rateLimited) {
                try await files.begin(announced.file.asset.name, signature, by: FilesFixture.nobody)
            }
            try await files.begin(by: bob.sender).discard()
            try await files.begin(by: FilesFixture.key).discard()
            for _ in 0..<9 { uploads.append(try await files.begin(by: FilesFixture.master)) }
            await uploads[0].discard()
            await uploads[0].discard()
            _ = try await files.upload(by: ann.sender)
            // An upload that is forgotten gives its place back.
            uploads = []
            #expect(files.service.files?.isUnused == true)
        }
    }

    @Test func clientsWithoutAUserHaveEightEach() async throws {
        try await withFiles(uploads: .key) { files in
            var uploads: [Upload] = []
            for _ in 0..<8 { uploads.append(try await files.begin(by: FilesFixture.key.from(1))) }
            try await expectError(.rateLimited) { try await files.begin(by: FilesFixture.key.from(1)) }
            uploads.append(try await files.begin(by: FilesFixture.key.from(2)))
            for upload in uploads { await upload.discard() }
            #expect(files.service.files?.isUnused == true && files.storage.incoming == 0)
        }
    }

    @Test func aUserAnnouncesAHundredFiles() async throws {
        try await withFiles { files in
            let ann = try await files.user("ann")
            let bob = try await files.user("bob")
            for _ in 0..<100 { _ = try await files.announce(by: ann.caller) }
            try await expectError(.rateLimited) { try await files.announce(by: ann.caller) }
            try await expectError(.rateLimited) { try await files.upload(by: ann.sender) }
            _ = try await files.announce(by: bob.caller)
            _ = try await files.announce(by: ServiceFixture.masterCaller)
            #expect(files.storage.names.isEmpty && files.storage.incoming == 0)
        }
    }

    @Test func theFilesOfAUserHaveAQuota() async throws {
        // Each has 11 bytes.
        try await withFiles(uploads: .key, quota: 30) { files in
            let ann = try await files.user("ann")
            let bob = try await files.user("bob")
            let stored = try await files.upload(by: ann.sender)
            let announced = try await files.announce(by: ann.caller)
            // Before a byte: by the announced length, and by an announcement.
            let rows: [(Int?, Sender, String)] = [
                (8, ann.sender, "OK"), (9, ann.sender, "AssetSizeTooLarge"), (nil, ann.sender, "OK"),
                (9, bob.sender, "OK"), (9, FilesFixture.key, "OK"), (31, FilesFixture.key, "OK"),
                (31, FilesFixture.master, "OK"), (31, bob.sender, "AssetSizeTooLarge"),
            ]
            for (length, sender, expected) in rows {
                let found = await files.summary { () async throws(SkyrowError) in
                    try await files.begin(length: length, by: sender).discard()
                }
                #expect(found == expected, "\(length as Any) \(sender.credentials)")
            }
            let master = Caller(kind: .master(actingAs: bob.caller.userID))
            let callers: [(Int, Caller, String)] = [
                (9, ann.caller, "AssetSizeTooLarge"), (8, ann.caller, "OK"), (1, ann.caller, "AssetSizeTooLarge"),
                (31, bob.caller, "AssetSizeTooLarge"), (31, .anonymous, "OK"), (31, master, "OK"),
                (1, bob.caller, "AssetSizeTooLarge"),
            ]
            for (size, caller, expected) in callers {
                let found = await files.summary { () async throws(SkyrowError) in
                    try await files.announce(size: size, by: caller)
                }
                #expect(found == expected, "\(size) \(caller)")
            }
            let error = try await expectError(.assetSizeTooLarge) { try await files.begin(by: ann.sender) }
            #expect(error?.info == ["limit": .integer(30), "used": .integer(30)])
            #expect(error?.message.contains("30 of 30 bytes") == true)
            // What was announced is uploaded, and what is deleted makes room.
            let upload = try await files.begin(announced.file.asset.name, by: ann.sender)
            try await upload.append(Self.png)
            _ = try await upload.finish()
            try await expectError(.assetSizeTooLarge) { try await files.upload(by: ann.sender) }
            #expect(try await files.service.run(Actions.fileDelete, FileDeletion(names: [stored]), by: ann.caller) == 1)
            try await files.upload(by: ann.sender)
            #expect(files.storage.incoming == 0 && files.service.files?.isUnused == true)
        }
    }

    @Test func aQuotaEndsAnUploadThatGrows() async throws {
        try await withFiles(quota: 30) { files in
            let ann = try await files.user("ann")
            try await files.upload(by: ann.sender)
            let upload = try await files.begin("a.txt", nil, by: ann.sender)
            try await upload.append([UInt8](repeating: 65, count: 19))
            let error = try await expectError(.assetSizeTooLarge) { try await upload.append([65]) }
            #expect(error?.info["used"] == .integer(11))
            // Others may have used the rest until the end.
            let (first, second) = (try await files.begin(by: ann.sender), try await files.begin(by: ann.sender))
            for upload in [first, second] { try await upload.append(Self.png) }
            _ = try await first.finish()
            try await expectError(.assetSizeTooLarge) { try await second.finish() }
            #expect(files.storage.names.count == 2 && files.storage.incoming == 0)
            #expect(try await files.base.psql("SELECT sum(size) FROM _asset") == "22")
        }
    }

    @Test func withoutAQuotaTheFilesOfAUserHaveNoBound() async throws {
        try await withFiles(quota: 0) { files in
            let ann = try await files.user("ann")
            for _ in 0..<2 { try await files.upload(by: ann.sender) }
            _ = try await files.announce(size: 1000, by: ann.caller)
            #expect(files.storage.names.count == 2)
        }
    }

    /// Every upload leaves 1000 bytes.
    @Test func uploadsLeaveSpaceFree() async throws {
        try await withFiles(maximum: 64 << 20) { files in
            let ann = try await files.user("ann")
            let announced = try await files.announce(by: ann.caller).file.asset.name
            let rows: [(free: Int64?, length: Int?, isAnnounced: Bool, fits: Bool)] = [
                (nil, 11, false, true), (1011, 11, false, true), (1010, 11, false, false), (1000, nil, false, true),
                (999, nil, false, false), (0, nil, false, false), (.max, 1 << 20, false, true),
                // The size of an announced file is known.
                (1011, nil, true, true), (1010, nil, true, false),
            ]
            for row in rows {
                files.storage.setFreeSpace(row.free)
                for sender in [ann.sender, FilesFixture.master] {
                    func begin() async throws(SkyrowError) {
                        let upload =
                            try await row.isAnnounced
                            ? files.begin(announced, length: row.length, by: sender)
                            : files.begin(length: row.length, by: sender)
                        await upload.discard()
                    }
                    if row.fits {
                        try await begin()
                    } else {
                        let error = try await expectError(.overloaded) { try await begin() }
                        #expect(error?.isStorageFull == true, "\(row)")
                    }
                }
            }
            #expect(files.service.files?.isUnused == true)
            // Others may use the space while an upload grows.
            files.storage.setFreeSpace(1 << 30)
            let upload = try await files.begin("a.bin", nil, by: ann.sender)
            try await upload.append([UInt8](repeating: 0, count: 16 << 20))
            files.storage.setFreeSpace(999)
            let error = try await expectError(.overloaded) { try await upload.append([0]) }
            #expect(error?.isStorageFull == true)
            #expect(files.storage.names.isEmpty && files.storage.incoming == 0)
            // Nothing else needs the space.
            let deletion = FileDeletion(names: [announced])
            #expect(try await files.service.run(Actions.fileDelete, deletion, by: ann.caller) == 1)
        }
    }

    @Test func filesAreCountedForMetrics() async throws {
        try await withFiles { files in
            let ann = try await files.user("ann")
            for _ in 0..<2 { try await files.upload(by: ann.sender) }
            _ = try await files.announce(size: 500, by: ann.caller)
            #expect(files.service.statistics.files == AssetTotals())
            await files.service.countFiles()
            #expect(files.service.statistics.files == AssetTotals(expected: 1, stored: 2, bytes: 22))
            #expect(files.base.service.statistics.files == nil)
        }
    }

    @Test func anUploadEndsAfterItsTime() async throws {
        try await withFiles { files in
            let ann = try await files.user("ann")
            let upload = try await files.begin(by: ann.sender)
            files.base.clock.advance(by: .seconds(3599))
            try await upload.append(Self.png)
            files.base.clock.advance(by: .seconds(1))
            try await expectError(.responseTimeout) { try await upload.append(Self.png) }
            try await expectError(.badRequest) { try await upload.finish() }
            #expect(files.storage.incoming == 0 && files.service.files?.isUnused == true)
        }
    }

    @Test func requestsCountAgainstTheRateLimit() async throws {
        try await withFiles { files in
            let ann = try await files.user("ann")
            let name = try await files.upload(by: ann.sender)
            let address = try await files.service.fileSigner().address(of: name)
            let signature = try FileSignature(of: address)
            files.service.rateLimiter.limits = RateLimits(client: RateLimit(3, per: .seconds(60)))
            try await files.begin(by: ann.sender).discard()
            #expect(await files.reading(name, signature, by: FilesFixture.nobody) == "OK")
            #expect(await files.reading(name, by: FilesFixture.nobody) == "ResourceNotFound")
            try await expectError(.rateLimited) { try await files.begin(by: ann.sender) }
            #expect(await files.reading(name, signature, by: FilesFixture.nobody) == "RateLimited")
            #expect(await files.reading(name, by: FilesFixture.nobody) == "RateLimited")
            #expect(await files.reading(name, by: FilesFixture.master) == "OK")
        }
    }

    @Test func scopesOfKeysCount() async throws {
        try await withFiles(uploads: .key) { files in
            let name = try await files.upload(by: FilesFixture.master)
            for (scope, uploads) in [(KeyScope.read, "PermissionDenied"), (.write, "OK")] {
                let creation = KeyCreation(name: "client", scopes: [scope])
                let key = try await files.service.run(Actions.keyCreate, creation, by: ServiceFixture.masterCaller)
                let sender = Sender(credentials: Credentials(key: key.text), client: .none)
                let found = await files.summary { () async throws(SkyrowError) in try await files.upload(by: sender) }
                #expect(found == uploads)
                #expect(await files.reading(name, by: sender) == "ResourceNotFound")
            }
        }
    }

    @Test func withoutAStorageThereAreNoFiles() async throws {
        try await withService { fixture in
            let service = fixture.service
            let target = UploadTarget.new(filename: "a", contentType: nil)
            let sender = FilesFixture.master
            let requestID = FilesFixture.id
            try await expectError(.notSupported) {
                try await service.beginUpload(target, length: nil, from: sender, id: requestID)
            }
            try await expectError(.notSupported) {
                try await service.download(.file(FileSignerTests.cat, nil), from: sender, id: requestID)
            }
            let master = ServiceFixture.masterCaller
            try await expectError(.notSupported) {
                let announcement = FileAnnouncement(filename: "a", contentType: "text/plain", size: 1)
                return try await service.run(Actions.assetPut, announcement, by: master)
            }
            try await expectError(.notSupported) {
                let signing = FileSigning(record: id("note/1"), names: [])
                return try await service.run(Actions.fileSign, signing, by: master)
            }
            try await expectError(.notSupported) {
                try await service.run(Actions.fileDelete, FileDeletion(names: []), by: master)
            }
            try await expectError(.notSupported) { try await service.run(Actions.fileCollect, false, by: master) }
            #expect(service.maximumFile == 0 && service.links == nil)
            #expect(!service.uploadIsSigned(FileSignerTests.cat, FileSignature(expiredAt: "1", signature: "x")))
            await service.sweepFiles()
        }
    }
}
