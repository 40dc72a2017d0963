import SkyrowModel
import SkyrowTestSupport
import Testing

@testable import SkyrowStore

/// What becomes of the files of an account that is merged or deleted.
@Suite(.timeLimit(.minutes(60))) struct AssetUploaderTests {
    private func uploaders(_ f: AssetFixture) async throws -> String {
        try await f.psql("SELECT coalesce(owner, '-'), count(*) FROM _asset GROUP BY owner ORDER BY 1")
    }

    /// The records that name them inside of JSON become records of the other account, too.
    @Test func aMergeGivesFilesToTheOtherAccount() async throws {
        try await withAssets { f in
            try await f.insert((0..<3).map { file($0) }, owner: "carl")
            try await f.insert([file(3)], owner: "bob")
            try await f.psql(
                """
                INSERT INTO card (_id, _owner, _created_by, meta) VALUES ('1', 'carl', 'carl', '[\(nested(file(0)))]');
                INSERT INTO _merge (user_id, target, token_hash, next_at) VALUES ('carl', 'ann', 'hash', now())
                """
            )
            #expect(try await f.store.merges.run("carl", maximumRecords: 1000).isFinished)
            #expect(try await uploaders(f) == "ann|3\nbob|1")
            let access = RecordAccess(.bob, in: .everyone, for: .reading)
            let signable = try await f.assets.nestedAssets([file(0)], in: RecordID("card/1"), with: access)
            #expect(signable?.map(\.name) == [file(0)])
        }
    }

    /// Records of others may still refer to them.
    @Test func aDeletionLeavesFilesWithoutAnUploader() async throws {
        try await withAssets { f in
            try await f.insert((0..<3).map { file($0) }, owner: "carl")
            try await f.psql("INSERT INTO card (_id, _owner, poster) VALUES ('1', 'ann', '\(file(0))')")
            let deletions = f.store.deletions
            #expect(try await deletions.begin("carl", if: .none, recording: AuditEvent(.delete, by: .service)))
            let report = try await deletions.run(
                "carl",
                DeletedUserRules(),
                maximumRecords: 1000,
                looksForTraces: true
            )
            #expect(report.isFinished)
            #expect(try await uploaders(f) == "-|3")
            #expect(try await f.psql("SELECT poster FROM card") == file(0).rawValue)
        }
    }
}
