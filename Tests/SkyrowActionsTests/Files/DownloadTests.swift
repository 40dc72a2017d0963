import Foundation
import SkyrowModel
import SkyrowProtocol
import SkyrowStore
import SkyrowTestSupport
import Testing

@testable import SkyrowActions

@Suite struct DownloadTests {
    @Test func aFileIsReadThroughRecords() async throws {
        try await withFiles { files in
            let (ann, bob) = (try await files.user("ann"), try await files.user("bob"))
            let open = try await files.upload(by: ann.sender)
            let closed = try await files.upload(by: ann.sender)
            let own = try await files.upload(by: ann.sender)
            let unused = try await files.upload(by: ann.sender)
            let unknown = AssetName(id: "00000000-0000-4000-8000-000000000000", filename: "cat.png")
            var note = draft("note/open", ["photo": .asset(Asset(open))])
            note.access = AccessList([AccessEntry(.everyone, .read)])
            var secret = draft("note/closed", ["photo": .asset(Asset(closed))])
            secret.access = AccessList([])
            #expect(
                try await files.service.save(SaveRequest(note, secret), by: ann.caller).summaries == ["saved", "saved"]
            )
            let ofOwn = SaveRequest(draft("note/own", ["photo": .asset(Asset(own))]), database: .own)
            #expect(try await files.service.save(ofOwn, by: ann.caller).summaries == ["saved"])
            let announced = try await files.announce(by: ann.caller).file.asset.name
            let senders = [ann.sender, bob.sender, FilesFixture.key, FilesFixture.nobody, FilesFixture.master]
            let (yes, no) = ("OK", "ResourceNotFound")
            let rows: [(AssetName, [String])] = [
                (open, [yes, yes, yes, yes, yes]),
                (closed, [yes, no, no, no, yes]),
                (own, [yes, no, no, no, yes]),
                (unused, [yes, no, no, no, yes]),
                // A missing file looks like one that may not be read.
                (announced, [no, no, no, no, no]),
                (unknown, [no, no, no, no, no]),
            ]
            for (name, expected) in rows {
                var found: [String] = []
                for sender in senders { found.append(await files.reading(name, by: sender)) }
                #expect(found == expected, "\(name)")
            }
            let wrong = Sender(credentials: Credentials(key: "wrong"), client: .none)
            #expect(await files.reading(open, by: wrong) == "AccessKeyNotAccepted")
            let ended = Sender(credentials: Credentials(key: "api", accessToken: "ended"), client: .none)
            #expect(await files.reading(open, by: ended) == "AccessTokenNotAccepted")
            // Only what anybody may read may be kept by a proxy.
            #expect(try await files.download(open, by: FilesFixture.nobody).cache == .publicly(seconds: 300))
            #expect(try await files.download(open, by: bob.sender).cache == .privately(seconds: 0))
            #expect(try await files.download(closed, by: ann.sender).cache == .privately(seconds: 0))
            let missing = try await expectError(.resourceNotFound) {
                try await files.download(unknown, by: bob.sender).cache
            }
            let forbidden = try await expectError(.resourceNotFound) {
                try await files.download(closed, by: bob.sender).cache
            }
            #expect(missing == forbidden)
        }
    }

    @Test func aSignatureOpensAFileForItsTime() async throws {
        try await withFiles { files in
            let ann = try await files.user("ann")
            let name = try await files.upload(by: ann.sender)
            let signer = try await files.service.fileSigner()
            let signature = try FileSignature(of: signer.address(of: name))
            let ofUpload = try FileSignature(of: signer.uploadPath(of: name))
            let unknown = AssetName(id: "00000000-0000-4000-8000-000000000000", filename: "cat.png")
            let ofUnknown = try FileSignature(of: signer.address(of: unknown))
            let read = try await files.download(name, signature, by: FilesFixture.nobody)
            #expect(read.bytes == FilesFixture.png)
            guard case .privately(let seconds) = read.cache else {
                Issue.record("\(read.cache)")
                return
            }
            #expect((900...1350).contains(seconds))
            let rows: [(AssetName, FileSignature, String)] = [
                (name, ofUpload, "InvalidSignature"), (name, ofUnknown, "InvalidSignature"),
                (name, FileSignature(expiredAt: "soon", signature: signature.signature), "InvalidArgument"),
                // Only a right signature shows whether the file exists.
                (unknown, signature, "InvalidSignature"), (unknown, ofUnknown, "ResourceNotFound"),
            ]
            for (name, signature, expected) in rows {
                // Credentials do not help.
                #expect(await files.reading(name, signature, by: FilesFixture.master) == expected)
            }
            files.base.clock.advance(by: .seconds(seconds - 1))
            #expect(await files.reading(name, signature, by: FilesFixture.nobody) == "OK")
            files.base.clock.advance(by: .seconds(1))
            #expect(await files.reading(name, signature, by: FilesFixture.nobody) == "PermissionDenied")
            // An announced file has no bytes.
            let announced = try await files.announce(by: ann.caller).file.asset
            let early = try FileSignature(of: try #require(announced.url))
            #expect(await files.reading(announced.name, early, by: FilesFixture.nobody) == "ResourceNotFound")
        }
    }

    @Test func processesAcceptEachOthersAddresses() async throws {
        try await withFiles { files in
            let ann = try await files.user("ann")
            let name = try await files.upload(by: ann.sender)
            let address = try await files.service.fileSigner().address(of: name)
            let other = files.base.configured { $0.files = files.service.configuration.files }
            let download = try await other.download(
                .file(name, try FileSignature(of: address)),
                from: FilesFixture.nobody,
                id: FilesFixture.id
            )
            #expect(download.asset.name == name)
            // With another secret they do not.
            let stranger = files.base.configured { configuration in
                configuration.files = files.service.configuration.files
                configuration.files?.secret = Array("another".utf8)
            }
            #expect(stranger.links != nil)
            try await expectError(.invalidSignature) {
                try await stranger.download(
                    .file(name, FileSignature(of: address)),
                    from: FilesFixture.nobody,
                    id: FilesFixture.id
                ).cache
            }
        }
    }

    @Test func aMissingFileIsNoticed() async throws {
        try await withFiles { files in
            let ann = try await files.user("ann")
            let name = try await files.upload(by: ann.sender)
            files.storage[name] = nil
            #expect(await files.reading(name, by: ann.sender) == "ResourceNotFound")
            // Without the name that its uploader gave it.
            #expect(files.base.observations.count { $0 == .fileMissing(id: String(name.id)) } == 1)
            #expect(files.base.observations.count { $0 == .fileTransferred(.download, .resourceNotFound) } == 1)
            files.storage.fail(at: .open, with: .unavailable("the disk is away"))
            let error = try await expectError(.overloaded) { try await files.download(name, by: ann.sender).cache }
            #expect(error?.message.contains("disk is away") == false && error?.isStorageFull == false)
            #expect(files.base.observations.count { $0 == .fileStorageFailed("the disk is away") } == 1)
        }
    }
}
