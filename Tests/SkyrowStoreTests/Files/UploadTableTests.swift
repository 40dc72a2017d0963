import SkyrowModel
import SkyrowTestSupport
import Testing

@testable import SkyrowStore

/// The identifier of an upload; different for each number.
func uploadID(_ number: Int) -> UploadID {
    let digits = String(number, radix: 16)
    return UploadID(uuid: "1f5c9d3e-7135-4912-a6c9-" + String(repeating: "0", count: 12 - digits.count) + digits)
}

extension AssetFixture {
    /// Announces a file of 9 bytes, with an upload.
    func announce(
        _ id: UploadID,
        _ number: Int,
        owner: UserID? = "ann",
        limit: Int = 100
    ) async throws(SkyrowError) -> UploadLease? {
        let asset = StoredAsset(
            name: file(number),
            filename: "ä.png",
            contentType: "image/png",
            size: 9,
            state: .expected,
            owner: owner
        )
        return try await assets.announce(
            asset,
            limit: limit,
            quota: nil,
            storage: "local",
            for: id,
            into: "incoming-\(number)",
            metadata: "filename w6QucG5n",
            leasedFor: .seconds(60)
        )
    }
}

/// The rows of uploads that may be interrupted.
@Suite(.timeLimit(.minutes(60))) struct UploadTableTests {
    private static let digest = [UInt8](repeating: 7, count: 32)

    @Test func anUploadCountsAsAnAnnouncedFile() async throws {
        try await withAssets { f in
            for number in 0..<2 { #expect(try await f.announce(uploadID(number), number, limit: 3) != nil) }
            let plain = StoredAsset(
                name: file(7),
                filename: "a",
                contentType: "image/png",
                size: 1,
                state: .expected,
                owner: "ann"
            )
            #expect(try await f.assets.announce(plain, limit: 3))
            #expect(try await f.announce(uploadID(2), 2, limit: 3) == nil)
            #expect(try await f.announce(uploadID(3), 3, owner: "bob", limit: 3) != nil)
            #expect(try await f.psql("SELECT count(*) FROM _upload") == "3")
            let found = try #require(try await f.assets.upload(uploadID(1)))
            #expect(found.id == uploadID(1) && found.asset.name == file(1) && found.asset.size == 9)
            #expect(found.received == 0 && found.incoming == "incoming-1" && found.metadata == "filename w6QucG5n")
            #expect(found.asset.owner == "ann" && found.asset.state == .expected && found.sha256 == nil)
            #expect(try await f.assets.upload(uploadID(2)) == nil)
        }
    }

    @Test func anUploadThatIsContinuedLivesForAnotherDay() async throws {
        try await withAssets { f in
            let first = try #require(try await f.announce(uploadID(1), 1))
            #expect(try await f.assets.release(first, at: 4))
            try await f.psql("UPDATE _asset SET expires_at = now() + interval '1 minute'")
            let claimed = try #require(try await f.assets.claim(uploadID(1), for: .seconds(60)))
            #expect(claimed.0.received == 4 && claimed.1.number == 2)
            let rest = "SELECT expires_at > now() + interval '23 hours' FROM _asset WHERE state = 'expected'"
            #expect(try await f.psql(rest) == "t")
            let found = try await f.assets.upload(uploadID(1))
            #expect(found?.expiresAt == claimed.0.expiresAt)
            // One that has expired is not continued any more, and ends with its file.
            #expect(try await f.assets.release(claimed.1, at: 5))
            try await f.psql("UPDATE _asset SET expires_at = now()")
            #expect(try await f.assets.upload(uploadID(1)) == nil)
            #expect(try await f.assets.claim(uploadID(1), for: .seconds(60)) == nil)
            #expect(try await f.assets.expire() == 1)
            #expect(try await f.psql("SELECT count(*) FROM _upload") == "0")
        }
    }

    @Test func aCompleteUploadIsKnownForADay() async throws {
        try await withAssets { f in
            let lease = try #require(try await f.announce(uploadID(1), 1))
            var asset = try #require(try await f.assets.upload(uploadID(1))).asset
            (asset.contentType, asset.sniffed) = ("image/gif", "image/gif")
            let old = UploadLease(id: lease.id, number: 0)
            #expect(try await !f.assets.prepareEnd(old, asset, sha256: Self.digest, for: .seconds(60)))
            #expect(try await f.assets.prepareEnd(lease, asset, sha256: Self.digest, for: .seconds(60)))
            let prepared = try #require(try await f.assets.upload(uploadID(1)))
            #expect(prepared.sha256 == Self.digest && prepared.asset.contentType == "image/gif")
            #expect(prepared.asset.sniffed == "image/gif" && prepared.asset.state == .expected)
            #expect(try await f.assets.markStored(prepared.asset, sha256: Self.digest))
            #expect(try await f.assets.upload(uploadID(1))?.asset.state == .stored)
            // Nothing more is written.
            #expect(try await f.assets.claim(uploadID(1), for: .seconds(60)) == nil)
            #expect(try await f.assets.expireUploads() == 0)
            try await f.psql("UPDATE _asset SET stored_at = now() - interval '1 day'")
            #expect(try await f.assets.upload(uploadID(1)) == nil)
            #expect(try await f.assets.expireUploads() == 1)
            #expect(try await f.names(in: "_asset") == [file(1).rawValue])
        }
    }

    @Test func anUploadDoesNotHoldItsFile() async throws {
        try await withAssets { f in
            let lease = try #require(try await f.announce(uploadID(1), 1))
            let stored = try #require(try await f.assets.upload(uploadID(1)))
            #expect(try await f.assets.prepareEnd(lease, stored.asset, sha256: Self.digest, for: .seconds(60)))
            #expect(try await f.assets.markStored(stored.asset, sha256: Self.digest))
            #expect(try await f.assets.delete([file(1)], owner: "ann", force: false) == [file(1): .deleted])
            #expect(try await f.psql("SELECT count(*) FROM _upload") == "0")
            #expect(try await f.names(in: "_garbage") == [file(1).rawValue])
        }
    }

    @Test func aRemovedUploadTakesItsFileAlongUnlessItIsStored() async throws {
        try await withAssets { f in
            for number in 1...2 { #expect(try await f.announce(uploadID(number), number) != nil) }
            let first = try #require(try await f.assets.upload(uploadID(1)))
            try await f.assets.remove(first)
            #expect(try await f.names(in: "_asset") == [file(2).rawValue])
            // Bytes may have got its name.
            #expect(try await f.names(in: "_garbage") == [file(1).rawValue])
            let second = try #require(try await f.assets.upload(uploadID(2)))
            #expect(try await f.assets.markStored(second.asset, sha256: Self.digest))
            try await f.assets.remove(second)
            #expect(try await f.names(in: "_asset") == [file(2).rawValue])
            #expect(try await f.psql("SELECT count(*) FROM _upload") == "0")
        }
    }

    @Test func incomingFilesOfUploadsStay() async throws {
        try await withAssets { f in
            for number in 1...2 { _ = try #require(try await f.announce(uploadID(number), number)) }
            let continued = try await f.assets.continued(among: ["incoming-2", "incoming-3"])
            #expect(continued == ["incoming-2"])
            #expect(try await f.assets.continued(among: []) == [])
        }
    }
}
