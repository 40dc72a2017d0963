import SkyrowModel
import SkyrowTestSupport
import Testing

@testable import SkyrowStore

/// The rows of files, from their announcement to the end of their bytes.
@Suite(.timeLimit(.minutes(60))) struct AssetTableTests {
    private func announced(_ number: Int, owner: UserID? = "ann") -> StoredAsset {
        StoredAsset(
            name: file(number),
            filename: "ä.png",
            contentType: "application/octet-stream",
            size: 9,
            state: .expected,
            owner: owner
        )
    }

    private static let digest = [UInt8](repeating: 7, count: 32)

    /// Expects a refusal with a code.
    private func expect(_ code: ErrorCode, _ body: () async throws(SkyrowError) -> Void) async {
        do throws(SkyrowError) {
            try await body()
            Issue.record("It was not refused.")
        } catch {
            #expect(error.code == code)
        }
    }

    /// An announced file as its bytes turned out.
    private func received(_ number: Int, size: Int64 = 3) -> StoredAsset {
        var asset = announced(number)
        asset.size = size
        (asset.contentType, asset.sniffed) = ("image/png", "image/png")
        asset.dimensions = PixelSize(width: 2, height: 1)
        return asset
    }

    @Test func anAnnouncedFileBecomesAStoredOneOnce() async throws {
        try await withAssets { f in
            let name = file(1)
            #expect(try await f.assets.asset(name) == nil)
            #expect(try await f.assets.announce(announced(1), limit: 1))
            #expect(try await f.assets.asset(name) == announced(1))
            #expect(
                try await f.assets.markStored(received(1), sha256: Self.digest)
            )
            let stored = try #require(try await f.assets.asset(name))
            #expect(stored.state == .stored && stored.size == 3 && stored.contentType == "image/png")
            #expect(stored.sniffed == "image/png" && stored.dimensions == PixelSize(width: 2, height: 1))
            #expect(stored.filename == "ä.png" && stored.owner == "ann" && stored.storedAt != nil)
            #expect(
                try await !f.assets.markStored(received(1, size: 4), sha256: Self.digest)
            )
            #expect(try await f.assets.asset(name) == stored)
            await expect(.resourceNotFound) { () async throws(SkyrowError) in
                _ = try await f.assets.markStored(received(2), sha256: Self.digest)
            }
        }
    }

    @Test func anUploaderAnnouncesSoManyFilesAtATime() async throws {
        try await withAssets { f in
            for number in 0..<3 { #expect(try await f.assets.announce(announced(number), limit: 3)) }
            #expect(try await !f.assets.announce(announced(3), limit: 3))
            // Those of another user and of a key alone count apart.
            #expect(try await f.assets.announce(announced(4, owner: "bob"), limit: 3))
            for number in 5..<10 { #expect(try await f.assets.announce(announced(number, owner: nil), limit: 3)) }
            // A file whose bytes have arrived, and one that is not expected any more, make room.
            #expect(
                try await f.assets.markStored(received(0), sha256: Self.digest)
            )
            #expect(try await f.assets.announce(announced(3), limit: 3))
            #expect(try await !f.assets.announce(announced(10), limit: 3))
            try await f.psql("UPDATE _asset SET expires_at = now() WHERE name = '\(file(1))'")
            #expect(try await f.assets.announce(announced(10), limit: 3))
        }
    }

    /// The bytes of the files of ann, those of a further one, and whether it fits into 100.
    @Test(
        arguments: [
            (0, 100, true), (0, 101, false), (60, 40, true), (60, 41, false), (99, 1, true), (100, 1, false),
            (200, 1, false), (60, .max, false),
        ] as [(Int64, Int64, Bool)]
    ) func theFilesOfAnUploaderHaveAQuota(_ used: Int64, _ size: Int64, _ fits: Bool) async throws {
        try await withAssets { f in
            try await f.insert([file(1)], owner: "ann")
            try await f.insert([file(2)], owner: "bob")
            try await f.insert([file(3)])
            try await f.psql("UPDATE _asset SET size = CASE owner WHEN 'ann' THEN \(used / 2) ELSE 1000 END")
            // Announced files count as stored ones do.
            var known = announced(4)
            known.size = used - used / 2
            #expect(try await f.assets.announce(known, limit: 9))
            #expect(try await f.assets.bytes(of: "ann") == used)
            var further = announced(5)
            further.size = size
            do throws(SkyrowError) {
                let isAnnounced = try await f.assets.announce(further, limit: 9, quota: 100)
                #expect(fits && isAnnounced)
            } catch {
                #expect(!fits && error == .fileQuotaExceeded(limit: 100, used: used))
            }
            let stored = try await f.assets.asset(file(5))
            #expect((stored != nil) == fits)
            // Those of another user and of a key alone count apart.
            var other = announced(6, owner: "carl")
            other.size = 100
            #expect(try await f.assets.announce(other, limit: 9, quota: 100))
            other = announced(7, owner: nil)
            #expect(try await f.assets.announce(other, limit: 9, quota: 1))
        }
    }

    @Test func deletedFilesMakeRoomInAQuota() async throws {
        try await withAssets { f in
            try await f.insert([file(1), file(2)], owner: "ann")
            await expect(.assetSizeTooLarge) { () async throws(SkyrowError) in
                _ = try await f.assets.announce(announced(3), limit: 9, quota: 12)
            }
            #expect(try await f.assets.delete([file(1)], owner: "ann", force: false) == [file(1): .deleted])
            #expect(try await f.assets.announce(announced(3), limit: 9, quota: 12))
            // Of both bounds the quota is named.
            await expect(.assetSizeTooLarge) { () async throws(SkyrowError) in
                _ = try await f.assets.announce(announced(4), limit: 1, quota: 12)
            }
            #expect(try await !f.assets.announce(announced(4), limit: 1, quota: 21))
        }
    }

    /// An upload reads no row to add up those of its user, and the deletion of an account finds them by the same index.
    @Test func theIndexOfOwnersHasTheSizes() async throws {
        try await withAssets { f in
            try await f.insert((0..<9).map { file($0) }, owner: "ann")
            for (statement, node) in [
                ("SELECT sum(size) FROM _asset WHERE owner = 'ann'", "Index Only Scan using _asset_owner_size_idx"),
                ("UPDATE _asset SET owner = NULL WHERE owner = 'ann'", "Index Scan using _asset_owner_size_idx"),
            ] {
                let plan = try await f.psql(
                    "SET enable_seqscan = off; SET enable_bitmapscan = off; EXPLAIN (COSTS OFF) \(statement)"
                )
                #expect(plan.contains(node), "\(plan)")
            }
        }
    }

    @Test func aNameIsTakenOnceAndAnUploaderHasAnAccount() async throws {
        try await withAssets { f in
            #expect(try await f.assets.announce(announced(1), limit: 9))
            await expect(.duplicated) { () async throws(SkyrowError) in
                _ = try await f.assets.announce(announced(1), limit: 9)
            }
            await expect(.duplicated) { () async throws(SkyrowError) in
                try await f.assets.insertStored(announced(1), sha256: Self.digest, storage: "local")
            }
            try await f.assets.insertStored(announced(2), sha256: Self.digest, storage: "local")
            #expect(try await f.assets.asset(file(2))?.state == .stored)
            await expect(.resourceNotFound) { () async throws(SkyrowError) in
                _ = try await f.assets.announce(announced(3, owner: "ghost"), limit: 9)
            }
            await expect(.resourceNotFound) { () async throws(SkyrowError) in
                try await f.assets.insertStored(announced(3, owner: "ghost"), sha256: Self.digest, storage: "local")
            }
            #expect(try await f.assets.asset(file(3)) == nil)
        }
    }

    @Test(
        arguments: [
            "name = 'a.png'", "name = '../a.png'", "name = upper(name)", "name = left(name, 37)", "name = name || '/'",
            "name = rpad(name, 154, 'x')", "state = 'stored'", "size = -1", "filename = repeat('x', 1025)",
            "content_type = repeat('x', 256)", "sha256 = '\\x01'", "sha256 = sha256('')", "expires_at = NULL",
            "unreferenced_since = now()", "width = 1", "width = 0, height = 1", "storage = ''", "owner = 'ghost'",
        ]
    )
    func theDatabaseRefusesARowThatIsNoFile(_ change: String) async throws {
        try await withAssets { f in
            #expect(try await f.assets.announce(announced(1), limit: 9))
            await #expect(throws: (any Error).self) { try await f.psql("UPDATE _asset SET \(change)") }
            try await f.psql("UPDATE _asset SET name = rpad(name, 153, 'x'), filename = repeat('x', 1024)")
        }
    }

    @Test func whatDoesNotArriveWithinADayIsGarbage() async throws {
        try await withAssets { f in
            for number in 0..<5 { _ = try await f.assets.announce(announced(number), limit: 9) }
            _ = try await f.assets.markStored(received(0), sha256: Self.digest)
            #expect(try await f.assets.expire() == 0)
            // psql may have made a record refer to one of them.
            try await f.psql(
                """
                UPDATE _asset SET expires_at = expires_at - interval '1 day' WHERE name IN ('\(file(1))', '\(file(2))', '\(file(3))');
                INSERT INTO card (_id, poster) VALUES ('1', '\(file(3))')
                """
            )
            #expect(try await f.assets.expire() == 2)
            #expect(try await f.names(in: "_asset") == [file(0).rawValue, file(3).rawValue, file(4).rawValue])
            #expect(try await f.assets.garbage(after: nil, limit: 9).map(\.name) == [file(1), file(2)])
            #expect(try await f.assets.garbage(after: file(1), limit: 9).map(\.name) == [file(2)])
            #expect(try await f.assets.garbage(after: nil, limit: 1) == [GarbageFile(name: file(1), storage: "local")])
            try await f.assets.forget([file(1)])
            #expect(try await f.assets.garbage(after: nil, limit: 9).map(\.name) == [file(2)])
            await expect(.resourceNotFound) { () async throws(SkyrowError) in
                _ = try await f.assets.markStored(received(1), sha256: Self.digest)
            }
        }
    }

    @Test func rowsAreComparedWithTheStorage() async throws {
        try await withAssets { f in
            try await f.insert((0..<5).map { file($0) }, owner: "ann")
            _ = try await f.assets.announce(announced(5), limit: 9)
            var seen: [AssetName] = []
            while true {
                let rows = try await f.assets.rows(after: seen.last, limit: 2)
                seen += rows.map(\.asset.name)
                if rows.count < 2 { break }
            }
            #expect(seen == (0..<5).map { file($0) })
            try await f.psql("INSERT INTO _garbage (name, storage) VALUES ('\(file(6))', 'local')")
            #expect(try await f.assets.unknown(among: [file(0), file(5), file(6), file(7)]) == [file(7)])
            #expect(try await f.assets.totals() == AssetTotals(expected: 1, stored: 5, bytes: 15))
        }
    }

    /// A file in the storage without a row gets one, and one that was announced is stored; no other row changes.
    @Test func aFileInTheStorageIsAdoptedOnce() async throws {
        try await withAssets { f in
            var found = announced(1, owner: nil)
            found.size = 5
            #expect(try await f.assets.adopt(found, sha256: nil, storage: "local"))
            #expect(try await !f.assets.adopt(found, sha256: Self.digest, storage: "local"))
            #expect(try await f.assets.rows(after: nil, limit: 9).map(\.sha256) == [nil])
            #expect(try await f.assets.announce(announced(2), limit: 9))
            found.name = file(2)
            #expect(try await f.assets.adopt(found, sha256: Self.digest, storage: "local"))
            let row = try #require(try await f.assets.rows(after: file(1), limit: 9).first)
            #expect(row.asset.owner == "ann" && row.asset.size == 5 && row.sha256 == Self.digest)
            try await f.psql("INSERT INTO _garbage (name, storage) VALUES ('\(file(3))', 'local')")
            found.name = file(3)
            #expect(try await !f.assets.adopt(found, sha256: nil, storage: "local"))
            #expect(try await f.assets.asset(file(3)) == nil)
        }
    }

    @Test func theUploaderOfADeletedAccountIsForgotten() async throws {
        try await withAssets { f in
            try await f.insert([file(1)], owner: "carl")
            try await f.psql("DELETE FROM \"user\" WHERE _id = 'carl'")
            let left = try #require(try await f.assets.asset(file(1)))
            #expect(left.owner == nil && left.state == .stored)
        }
    }

    /// PostgreSQL checks the foreign key with the rights of the table's owner.
    @Test func aRoleThatMayWriteRecordsMayReferToFiles() async throws {
        try await withAssets { f in
            try await f.insert([file(1)])
            let role = "clerk_\(f.records.database.name)".prefix(63)
            func run(_ statement: String) async throws {
                try await f.psql(
                    """
                    CREATE ROLE \(role);
                    GRANT USAGE ON SCHEMA app TO \(role); GRANT SELECT, INSERT, UPDATE ON card TO \(role);
                    SET ROLE \(role);
                    \(statement);
                    RESET ROLE; DROP OWNED BY \(role); DROP ROLE \(role);
                    """
                )
            }
            try await run("INSERT INTO card (_id, poster) VALUES ('1', '\(file(1))')")
            #expect(try await f.psql("SELECT poster FROM card") == file(1).rawValue)
            let statements = [
                "INSERT INTO card (_id, poster) VALUES ('2', '\(file(2))')", "SELECT * FROM app_internal._asset",
            ]
            for statement in statements {
                // The role goes with the transaction.
                await #expect(throws: (any Error).self) {
                    try await f.psql(
                        """
                        BEGIN; CREATE ROLE \(role); GRANT USAGE ON SCHEMA app TO \(role);
                        GRANT SELECT, INSERT, UPDATE ON card TO \(role); SET LOCAL ROLE \(role); \(statement); COMMIT
                        """
                    )
                }
            }
        }
    }
}
