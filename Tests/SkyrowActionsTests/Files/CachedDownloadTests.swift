import Foundation
import SkyrowModel
import SkyrowProtocol
import SkyrowStore
import SkyrowTestSupport
import Testing

@testable import SkyrowActions

/// Downloads of files that were downloaded shortly before.
@Suite struct CachedDownloadTests {
    private static func signature(_ name: AssetName, _ files: FilesFixture) async throws -> FileSignature {
        try FileSignature(of: try await files.service.fileSigner().address(of: name))
    }

    /// Runs `body` while the service is notified of changes.
    private func listening(_ files: FilesFixture, _ body: () async throws -> Void) async throws {
        let service = files.service
        try await withRunning {
            try await service.run()
        } while: {
            // That of the fixture listens, too.
            try await waiting(until: "both listen", hearing: [files.base.observations]) {
                files.base.observations.count { $0 == .listening(again: false) } == 2
            }
            try await body()
        }
    }

    private func waitForNotices(_ count: Int, _ files: FilesFixture) async throws {
        try await waiting(until: "notices arrive", hearing: [files.base.observations]) {
            files.base.observations.count { $0 == .filesForgotten } >= count
        }
        #expect(files.base.observations.count { $0 == .filesForgotten } == count)
    }

    @Test func aCachedFileNeedsNeitherItsRowNorItsStorageForASecond() async throws {
        try await withFiles { files in
            let ann = try await files.user("ann")
            let name = try await files.upload(by: ann.sender)
            let signature = try await Self.signature(name, files)
            #expect(await files.reading(name, signature, by: FilesFixture.nobody) == "OK")
            files.storage.fail(at: .open, with: .unavailable("away"))
            #expect(await files.reading(name, signature, by: FilesFixture.nobody) == "OK")
            // The open file, after a look at who may read it.
            #expect(await files.reading(name, by: ann.sender) == "OK")
            let bob = try await files.user("bob")
            #expect(await files.reading(name, by: bob.sender) == "ResourceNotFound")
            files.base.clock.advance(by: .seconds(1))
            #expect(await files.reading(name, signature, by: FilesFixture.nobody) == "OK")
            // No notice comes: this service does not listen.
            try await files.base.psql("DELETE FROM _asset")
            #expect(await files.reading(name, signature, by: FilesFixture.nobody) == "OK")
            #expect(await files.reading(name, by: ann.sender) == "ResourceNotFound")
            files.base.clock.advance(by: .seconds(1))
            #expect(await files.reading(name, signature, by: FilesFixture.nobody) == "ResourceNotFound")
        }
    }

    @Test func aFileThatItsOwnProcessDeletesIsGoneAtOnce() async throws {
        try await withFiles { files in
            let ann = try await files.user("ann")
            var names: [AssetName] = []
            for _ in 0..<2 { names.append(try await files.upload(by: ann.sender)) }
            let signatures = [try await Self.signature(names[0], files), try await Self.signature(names[1], files)]
            for (name, signature) in zip(names, signatures) {
                #expect(await files.reading(name, signature, by: FilesFixture.nobody) == "OK")
            }
            // Its bytes stay for a while.
            files.storage.fail(at: .delete, with: .unavailable("away"))
            let deletion = FileDeletion(names: [names[0]])
            #expect(try await files.service.run(Actions.fileDelete, deletion, by: ann.caller) == 1)
            #expect(await files.reading(names[0], signatures[0], by: FilesFixture.nobody) == "ResourceNotFound")
            #expect(await files.reading(names[1], signatures[1], by: FilesFixture.nobody) == "OK")
            try await files.base.psql("UPDATE _asset SET unreferenced_since = now() - interval '2 days'")
            #expect(try await files.service.look(isDryRun: false).collected == 1)
            #expect(await files.reading(names[1], signatures[1], by: FilesFixture.nobody) == "ResourceNotFound")
            #expect(files.storage.names == Set(names))
        }
    }

    @Test func aFileThatAnotherProcessDeletesIsGoneWithTheNotice() async throws {
        try await withFiles { files in
            let ann = try await files.user("ann")
            let name = try await files.upload(by: ann.sender)
            let signature = try await Self.signature(name, files)
            let other = files.base.configured { $0.files = files.service.configuration.files }
            try await listening(files) {
                #expect(await files.reading(name, signature, by: FilesFixture.nobody) == "OK")
                let before = files.base.observations.count { $0 == .filesForgotten }
                #expect(try await other.run(Actions.fileDelete, FileDeletion(names: [name]), by: ann.caller) == 1)
                // One of the other itself, and one of the notice.
                try await waitForNotices(before + 2, files)
                #expect(await files.reading(name, signature, by: FilesFixture.nobody) == "ResourceNotFound")
            }
        }
    }

    @Test func changesWithPsqlAreSeen() async throws {
        try await withFiles { files in
            let ann = try await files.user("ann")
            let name = try await files.upload(by: ann.sender)
            let signature = try await Self.signature(name, files)
            try await listening(files) {
                let source = DownloadSource.file(name, signature)
                func contentType() async throws(SkyrowError) -> String {
                    try await files.service.download(source, from: FilesFixture.nobody, id: FilesFixture.id)
                        .asset.contentType
                }
                #expect(try await contentType() == "image/png")
                try await files.base.psql("UPDATE _asset SET content_type = 'image/gif'")
                try await waitForNotices(1, files)
                #expect(try await contentType() == "image/gif")
                // Neither what sets the same nor a mark of a look is a change.
                try await files.base.psql(
                    "UPDATE _asset SET content_type = 'image/gif'; UPDATE _asset SET unreferenced_since = now()"
                )
                // Uploads and files that never arrived are none.
                let announced = try await files.announce(by: ann.caller).file.asset.name
                try await files.upload(by: ann.sender)
                try await files.base.psql("DELETE FROM _asset WHERE name = '\(announced)'")
                // Many rows are one.
                try await files.base.psql(
                    """
                    INSERT INTO _asset (name, filename, content_type, size, state, stored_at)
                    SELECT format('%s-7135-4912-a6c9-7c1dbec0f5ef-a', lpad(to_hex(number), 8, '0')), 'a', 'text/plain', 1, 'stored', now()
                    FROM generate_series(1, 500) AS number;
                    DELETE FROM _asset WHERE content_type = 'text/plain'
                    """
                )
                try await waitForNotices(2, files)
                #expect(await files.reading(name, signature, by: FilesFixture.nobody) == "OK")
                try await files.base.psql("DELETE FROM _asset")
                try await waitForNotices(3, files)
                #expect(await files.reading(name, signature, by: FilesFixture.nobody) == "ResourceNotFound")
            }
        }
    }
}
