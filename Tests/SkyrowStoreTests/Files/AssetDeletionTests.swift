import SkyrowModel
import SkyrowTestSupport
import Testing

@testable import SkyrowPostgres
@testable import SkyrowStore

/// Deleting files by their names.
@Suite(.timeLimit(.minutes(60))) struct AssetDeletionTests {
    /// Files of ann: one that nothing refers to, one of a public record, one of bob's private record, one inside of JSON; one of bob's.
    private func withFiles(test: String = #function, _ body: @escaping @Sendable (AssetFixture) async throws -> Void)
        async throws
    {
        try await withAssets(test: test) { f in
            try await f.insert((0..<4).map { file($0) }, owner: "ann")
            try await f.insert([file(4)], owner: "bob")
            try await f.psql(
                """
                INSERT INTO card (_id, _database, _owner, _updated_at, title, poster, scan, meta) VALUES
                    ('1', '_public', 'ann', '2020-01-01', 'a', '\(file(1))', NULL, NULL),
                    ('2', '_public', 'ann', '2020-01-01', 'b', '\(file(1))', '\(file(1))', NULL),
                    ('3', '_public', 'ann', '2020-01-01', 'c', NULL, NULL, '[\(nested(file(3)))]'),
                    ('~bob/4', 'bob', 'bob', '2020-01-01', 'd', NULL, '\(file(2))', NULL)
                """
            )
            try await body(f)
        }
    }

    struct Row: Sendable {
        let owner: UserID?
        let force: Bool
        let files: [Int]
        let outcomes: [AssetDeletion]
    }

    @Test(
        arguments: [
            Row(owner: "ann", force: false, files: [0, 3], outcomes: [.deleted, .deleted]),
            Row(owner: "ann", force: false, files: [0, 1], outcomes: [.kept, .referredTo]),
            Row(owner: "ann", force: false, files: [0, 2], outcomes: [.kept, .referredTo]),
            Row(owner: "ann", force: false, files: [0, 4], outcomes: [.kept, .missing]),
            Row(owner: "ann", force: false, files: [1, 5], outcomes: [.kept, .missing]),
            Row(owner: "bob", force: false, files: [0], outcomes: [.missing]),
            Row(owner: "bob", force: false, files: [4], outcomes: [.deleted]),
            Row(owner: "carl", force: false, files: [5], outcomes: [.missing]),
            Row(owner: nil, force: false, files: [0, 3, 4], outcomes: [.deleted, .deleted, .deleted]),
            Row(owner: nil, force: false, files: [0, 1, 2], outcomes: [.kept, .referredTo, .referredTo]),
            Row(owner: nil, force: true, files: [0, 1, 2, 3, 4], outcomes: Array(repeating: .deleted, count: 5)),
            Row(owner: nil, force: true, files: [1, 5], outcomes: [.kept, .missing]),
            Row(owner: nil, force: false, files: [], outcomes: []),
        ]
    )
    func filesAreDeletedTogetherAndThoseThatAreReferredToByForceAlone(_ row: Row) async throws {
        try await withFiles { f in
            let before = try await f.psql("SELECT string_agg(c::text, ',' ORDER BY _id) FROM card AS c")
            let names = row.files.map { file($0) }
            let outcomes = try await f.assets.delete(names + names.prefix(1), owner: row.owner, force: row.force)
            #expect(names.map { outcomes[$0] } == row.outcomes)
            #expect(outcomes.count == names.count)
            let deleted = Set(zip(names, row.outcomes).filter { $0.1 == .deleted }.map(\.0.rawValue))
            #expect(try await f.names(in: "_garbage") == deleted)
            #expect(try await f.names(in: "_asset").isDisjoint(with: deleted))
            let isChanged = try await f.psql("SELECT string_agg(c::text, ',' ORDER BY _id) FROM card AS c") != before
            #expect(isChanged == (row.force && !deleted.isEmpty))
        }
    }

    /// A field that is cleared is a change of its record: with a new revision and time, which live queries and change feeds follow.
    @Test func aForcedDeletionChangesTheRecordsThatReferToTheFile() async throws {
        try await withFiles { f in
            let query = "SELECT _id, _revision FROM card ORDER BY _id"
            let before = try await f.psql(query)
            #expect(try await f.assets.delete([file(1)], owner: nil, force: true) == [file(1): .deleted])
            let after = try await f.psql(
                "SELECT _id, poster IS NULL AND scan IS NULL, _updated_at > '2020-01-02', title FROM card ORDER BY _id"
            )
            #expect(after == "1|t|t|a\n2|t|t|b\n3|t|f|c\n~bob/4|f|f|d")
            let pairs = zip(before.split(separator: "\n"), try await f.psql(query).split(separator: "\n"))
            #expect(pairs.map { $0.0 == $0.1 } == [false, false, true, true])
        }
    }

    @Test func aFieldThatCannotBeEmptyKeepsItsFile() async throws {
        try await withFiles { f in
            try await f.psql(
                "INSERT INTO safe (_id, deed) VALUES ('1', '\(file(0))'); ALTER TABLE safe ALTER deed SET NOT NULL"
            )
            let error = await #expect(throws: SkyrowError.self) {
                try await f.assets.delete([file(0), file(1)], owner: nil, force: true)
            }
            #expect(error?.code == .constraintViolated)
            #expect(try await f.names(in: "_garbage").isEmpty)
            #expect(try await f.psql("SELECT count(poster) FROM card") == "2")
        }
    }

    /// A table that is no record type can refer to files, too.
    @Test func everyForeignKeyCounts() async throws {
        try await withFiles { f in
            try await f.psql(
                """
                CREATE TABLE "Pages, 1" (number int, "the file" text REFERENCES _asset (name) ON DELETE CASCADE);
                INSERT INTO "Pages, 1" VALUES (1, '\(file(0))')
                """
            )
            #expect(try await f.assets.delete([file(0)], owner: "ann", force: false) == [file(0): .referredTo])
            #expect(try await f.assets.delete([file(0)], owner: nil, force: true) == [file(0): .deleted])
            #expect(try await f.psql("SELECT * FROM \"Pages, 1\"") == "1|")
        }
    }

    /// PostgreSQL refuses what the service does not find: here a foreign key of two columns.
    @Test func aForeignKeyThatIsNotFoundKeepsItsFileAlone() async throws {
        try await withFiles { f in
            try await f.psql(
                """
                ALTER TABLE _asset ADD UNIQUE (name, size);
                CREATE TABLE part (file text, size bigint, FOREIGN KEY (file, size) REFERENCES _asset (name, size));
                INSERT INTO part VALUES ('\(file(0))', 3)
                """
            )
            let error = await #expect(throws: SkyrowError.self) {
                try await f.assets.delete([file(0), file(4)], owner: nil, force: true)
            }
            #expect(error?.code == .constraintViolated)
            #expect(try await f.names(in: "_garbage").isEmpty)
            #expect(try await f.assets.discard([0, 1, 4].map { file($0).rawValue }, if: "true") == 1)
            #expect(try await f.names(in: "_garbage") == [file(4).rawValue])
        }
    }

    /// A backup locks `_garbage`. What would delete a file ends soon, and has not waited for the row of a file before.
    @Test func besideABackupNothingIsDeleted() async throws {
        try await withFiles { f in
            try await f.insert([file(5)])
            try await f.psql(
                """
                UPDATE _asset SET unreferenced_since = now() - interval '9 days' WHERE name = '\(file(0))';
                UPDATE _asset SET state = 'expected', stored_at = NULL, expires_at = now() WHERE name = '\(file(5))';
                UPDATE _meta SET files_looked_at = '-infinity';
                INSERT INTO _garbage (name, storage) VALUES ('\(file(6))', 'local')
                """
            )
            let grace = Duration.seconds(86_400)
            let deletions: [(String, @Sendable () async throws -> Void)] = [
                ("by the uploader", { _ = try await f.assets.delete([file(0)], owner: "ann", force: false) }),
                ("by force", { _ = try await f.assets.delete([file(0), file(1)], owner: nil, force: true) }),
                ("some", { _ = try await f.assets.discard([file(0).rawValue], if: "true") }),
                ("of expired ones", { _ = try await f.assets.expire() }),
                ("of unreferenced ones", { _ = try await f.assets.look(grace: grace) }),
                ("the claim of a look", { _ = try await f.assets.claimLook(notWithin: grace) }),
                ("from the garbage", { try await f.assets.forget([file(6)]) }),
            ]
            try await withPostgresClient(f.records.database.url) { other in
                try await other.withTransaction { transaction in
                    try await transaction.execute("LOCK TABLE app_internal._garbage IN SHARE MODE")
                    try await transaction.execute(
                        "SELECT name FROM app_internal._asset WHERE name = ANY (\([file(0), file(5)].map(\.rawValue))) FOR UPDATE"
                    )
                    for (label, deletion) in deletions {
                        let error = await #expect(throws: SkyrowError.self, "\(label)") { try await deletion() }
                        #expect(error == .filesAreHeld, "\(label)")
                    }
                    let look = try await f.assets.look(grace: grace, isDryRun: true)
                    #expect(look == AssetLook(collected: 1))
                }
            }
            #expect(try await f.names(in: "_garbage") == [file(6).rawValue])
            #expect(try await f.psql("SELECT count(*) FROM _asset") == "6")
            for (label, deletion) in deletions.dropFirst(2) {
                do {
                    try await deletion()
                } catch {
                    Issue.record("\(label): \(error)")
                }
            }
            #expect(try await f.names(in: "_garbage") == [file(0).rawValue, file(5).rawValue])
        }
    }

    /// A save that has begun keeps the file; one that comes later finds none.
    @Test func aSaveAndADeletionWaitForEachOther() async throws {
        try await withFiles { f in
            try await withPostgresClient(f.records.database.url) { other in
                let isWaiting = """
                    SELECT count(*) > 0 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()
                    """
                let deletion = try await other.withTransaction { transaction in
                    try await transaction.execute(
                        "INSERT INTO app.card (_id, poster) VALUES ('9', \(file(0).rawValue))"
                    )
                    let deletion = Task { try await f.assets.delete([file(0)], owner: "ann", force: false) }
                    try await waiting(until: "the deletion waits") { try await f.psql(isWaiting) == "t" }
                    // The collection waits for no save.
                    #expect(try await f.assets.discard([file(0).rawValue], if: "true") == 0)
                    return deletion
                }
                #expect(try await deletion.value == [file(0): .referredTo])
            }
            try await f.psql("DELETE FROM card WHERE _id = '9'")
            #expect(try await f.assets.delete([file(0)], owner: "ann", force: false) == [file(0): .deleted])
            await #expect(throws: (any Error).self) {
                try await f.psql("INSERT INTO card (_id, poster) VALUES ('9', '\(file(0))')")
            }
        }
    }
}
