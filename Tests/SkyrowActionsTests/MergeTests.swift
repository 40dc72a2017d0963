import SkyrowModel
import SkyrowProtocol
import SkyrowStore
import SkyrowTestSupport
import Testing

@testable import SkyrowActions

/// Merging an anonymous account into another one.
@Suite(.timeLimit(.minutes(60))) struct MergeTests {
    /// Folders and notes: a note is in a folder, refers to another note and to several, and has likes; a slug is unique.
    private static let types = """
        SELECT _create_type(name) FROM unnest('{folder,note,post}'::text[]) AS name;
        ALTER TABLE folder ADD COLUMN title text COLLATE "C";
        ALTER TABLE note ADD COLUMN title text COLLATE "C", ADD COLUMN slug text COLLATE "C",
            ADD COLUMN folder text COLLATE "C" REFERENCES folder (_id) DEFERRABLE,
            ADD COLUMN next text COLLATE "C" REFERENCES note (_id) DEFERRABLE,
            ADD COLUMN others text[] COLLATE "C" CHECK (others IS NULL OR 'app.note'::regclass IS NOT NULL);
        CREATE UNIQUE INDEX note_slug ON note (_database, slug);
        ALTER TABLE post ADD COLUMN author text COLLATE "C" REFERENCES "user" (_id) DEFERRABLE;
        SELECT _create_relation('note', 'likes', 'note');
        SELECT _create_relation('post', 'fans', 'user');
        """

    private struct Accounts {
        let fixture: ServiceFixture
        let guest: AuthResult
        let guestCaller: Caller
        let ann: AuthResult
        let caller: Caller

        var service: ActionService { fixture.service }

        func merge(_ service: ActionService? = nil, by caller: Caller? = nil) async throws(SkyrowError) -> MergeReport {
            try await (service ?? self.service).run(Actions.authMerge, guest.accessToken, by: caller ?? self.caller)
        }

        /// The rows of a query, with names in the place of ids.
        func rows(_ query: String) async throws -> String {
            try await fixture.psql(query)
                .replacing(guest.userID.rawValue, with: "guest").replacing(ann.userID.rawValue, with: "ann")
        }

        /// Runs statements that say `guest` and `ann`.
        func psql(_ statements: String) async throws {
            try await fixture.psql(
                statements.replacing("<guest>", with: guest.userID.rawValue)
                    .replacing("<ann>", with: ann.userID.rawValue)
            )
        }
    }

    private func withAccounts(test: String = #function, _ body: (Accounts) async throws -> Void) async throws {
        try await withService(test: test) { fixture in
            try await fixture.psql(Self.types)
            try await fixture.service.store.cache.reload()
            let (ann, caller) = try await fixture.service.signUp("ann")
            let guest = try await fixture.service.signUp(SignUpRequest())
            let guestCaller = try await fixture.service.authenticate(.token(guest.accessToken), for: .user)
            try await body(Accounts(fixture: fixture, guest: guest, guestCaller: guestCaller, ann: ann, caller: caller))
        }
    }

    @Test func everythingOfTheAnonymousAccountBecomesTheOthers() async throws {
        try await withAccounts { accounts in
            try await accounts.psql(
                """
                INSERT INTO folder (_id, _database, _owner, title) VALUES
                    ('~<guest>/main', '<guest>', '<guest>', 'of the guest'), ('~<ann>/main', '<ann>', '<ann>', 'of ann'),
                    ('~<ann>/main~1', '<ann>', '<ann>', 'of ann'), ('~<guest>/own', '<guest>', '<guest>', 'own');
                INSERT INTO note (_id, _database, _owner, _created_by, title, folder, next, others) VALUES
                    ('public', '_public', '<guest>', '<guest>', 'public', NULL, NULL, NULL),
                    ('~<guest>/1', '<guest>', '<guest>', '<guest>', 'one', '~<guest>/main', '~<guest>/2',
                        '{~<guest>/2,public,~<guest>/3}'),
                    ('~<guest>/2', '<guest>', '<guest>', '<guest>', 'two', '~<guest>/own', '~<guest>/1', '{}'),
                    ('~<guest>/3', '<guest>', '<guest>', '<guest>', 'three', NULL, 'public', NULL),
                    ('~<ann>/2', '<ann>', '<ann>', '<ann>', 'of ann', '~<ann>/main', NULL, '{~<ann>/2}');
                INSERT INTO "note.likes" VALUES ('~<guest>/1', '~<guest>/2'), ('~<guest>/2', 'public');
                INSERT INTO post (_id, _owner, author) VALUES ('1', 'other', '<guest>');
                INSERT INTO "post.fans" VALUES ('1', '<guest>');
                """
            )
            let report = try await accounts.merge()
            #expect(report.isFinished && report.records == 6)
            #expect(report.changes.map { "\($0.from) \($0.to)" } == ["folder/main folder/main~2", "note/2 note/2~1"])
            let notes = try await accounts.rows(
                "SELECT _id, _database, _owner, coalesce(_created_by, '-'), folder, next, others FROM note ORDER BY title COLLATE \"C\""
            )
            #expect(
                notes == """
                    ~ann/2|ann|ann|ann|~ann/main||{~ann/2}
                    ~ann/1|ann|ann|ann|~ann/main~2|~ann/2~1|{~ann/2~1,public,~ann/3}
                    public|_public|ann|ann|||
                    ~ann/3|ann|ann|ann||public|
                    ~ann/2~1|ann|ann|ann|~ann/own|~ann/1|{}
                    """
            )
            #expect(
                try await accounts.rows("SELECT * FROM \"note.likes\" ORDER BY 1") == "~ann/1|~ann/2~1\n~ann/2~1|public"
            )
            #expect(try await accounts.rows("SELECT author FROM post") == "ann")
            #expect(try await accounts.rows("SELECT * FROM \"post.fans\"") == "1|ann")
            #expect(try await accounts.rows("SELECT id FROM _user") == "ann")
            // The user goes on with the records by the service.
            #expect(
                try await accounts.service.fetch("note/2~1", "note/public", in: .own, by: accounts.caller)
                    == ["saved", "ResourceNotFound"]
            )
            #expect(try await accounts.service.fetch("note/public", by: accounts.caller) == ["saved"])
            try await expectError(.accessTokenNotAccepted) {
                try await accounts.service.authenticate(.token(accounts.guest.accessToken), for: .user)
            }
            // The same call again has the same result and no effect.
            #expect(try await accounts.merge() == report)
            #expect(
                try await accounts.rows("SELECT event, user_id, data ->> 'from' FROM _audit WHERE event = 'merge'")
                    == "merge|ann|guest"
            )
        }
    }

    @Test func relationsAreUnitedAndBlocksCount() async throws {
        try await withAccounts { accounts in
            let names = ["bob", "carl", "dora", "eve"]
            var ids: [String: String] = [:]
            for name in names { ids[name] = try await accounts.service.signUp(name).result.userID.rawValue }
            func filled(_ text: String) -> String {
                names.reduce(text) { $0.replacing("<\($1)>", with: ids[$1] ?? "") }
            }
            try await accounts.psql(
                filled(
                    """
                    INSERT INTO _relation (user_id, name, other_id) VALUES
                        ('<guest>', 'friend', '<bob>'), ('<bob>', 'friend', '<guest>'), ('<ann>', 'friend', '<bob>'),
                        ('<guest>', 'follow', '<carl>'), ('<dora>', 'follow', '<guest>'), ('<ann>', 'follow', '<guest>'),
                        ('<guest>', 'block', '<eve>'), ('<ann>', 'follow', '<eve>'), ('<carl>', 'block', '<ann>');
                    """
                )
            )
            try await accounts.psql("INSERT INTO _user_role SELECT '<guest>', name FROM _role")
            #expect(try await accounts.merge().isFinished)
            var rows = try await accounts.rows("SELECT user_id, name, other_id, mutual FROM _relation")
            for (name, id) in ids { rows = rows.replacing(id, with: name) }
            #expect(
                rows.split(separator: "\n").sorted() == [
                    "ann|block|eve|f", "ann|friend|bob|t", "bob|friend|ann|t", "carl|block|ann|f", "dora|follow|ann|f",
                ]
            )
            #expect(try await accounts.rows("SELECT count(*) FROM _user_role") == "0")
        }
    }

    @Test func aUniqueValueThatTheOtherHasIsClearedAndReported() async throws {
        try await withAccounts { accounts in
            try await accounts.psql(
                """
                INSERT INTO note (_id, _database, _owner, title, slug) VALUES
                    ('~<guest>/1', '<guest>', '<guest>', 'one', 'same'), ('~<guest>/2', '<guest>', '<guest>', 'two', 'free'),
                    ('~<ann>/9', '<ann>', '<ann>', 'of ann', 'same');
                """
            )
            let report = try await accounts.merge()
            #expect(report.isFinished && report.records == 2)
            #expect(report.changes.map(\.clearedFields) == [["slug"]])
            #expect(
                try await accounts.rows("SELECT _id, coalesce(slug, '-') FROM note ORDER BY _id")
                    == "~ann/1|-\n~ann/2|free\n~ann/9|same"
            )
        }
    }

    /// Whose token may not be merged, and into whom.
    @Test func onlyAnAnonymousAccountIsMerged() async throws {
        try await withAccounts { accounts in
            let (bob, bobCaller) = try await accounts.service.signUp("bob")
            for token in [bob.accessToken, accounts.ann.accessToken, "none", ""] {
                let error = try await expectError(.invalidToken) {
                    try await accounts.service.run(Actions.authMerge, token, by: accounts.caller)
                }
                #expect(error?.info.isEmpty == true)
            }
            // Into itself, and into an account that is out of use or gone.
            try await expectError(.invalidToken) { try await accounts.merge(by: accounts.guestCaller) }
            try await accounts.fixture.psql("UPDATE _user SET disabled = true WHERE id = '\(bob.userID)'")
            try await expectError(.invalidToken) { try await accounts.merge(by: bobCaller) }
            try await expectError(.invalidToken) { try await accounts.merge(by: Caller(kind: .user("none"))) }
            for change in [
                "UPDATE _session SET expires_at = now() WHERE user_id = '<guest>'",
                "UPDATE _session SET expires_at = NULL; UPDATE _user SET disabled = true WHERE id = '<guest>'",
                "UPDATE _user SET disabled = false, password_hash = 'x' WHERE id = '<guest>'",
            ] {
                try await accounts.psql(change)
                try await expectError(.invalidToken) { try await accounts.merge() }
            }
            try await accounts.psql("UPDATE _user SET password_hash = NULL WHERE id = '<guest>'")
            try await accounts.psql("UPDATE _session AS s SET epoch = u.epoch FROM _user AS u WHERE u.id = s.user_id")
            #expect(try await accounts.merge().isFinished)
            // Another one who learns of the token gets nothing by it.
            let (_, eve) = try await accounts.service.signUp("eve")
            try await expectError(.invalidToken) { try await accounts.merge(by: eve) }
        }
    }

    @Test func ofSeveralUsersWithTheTokenOneGetsTheRecords() async throws {
        try await withAccounts { accounts in
            for round in 0..<min(10, seededCases(3)) {
                let guest = try await accounts.service.signUp(SignUpRequest())
                let caller = try await accounts.service.authenticate(.token(guest.accessToken), for: .user)
                _ = try await accounts.service.save(
                    SaveRequest(draft("note/\(round)", ["title": "x"]), database: .own),
                    by: caller
                )
                let (_, bob) = try await accounts.service.signUp("bob\(round)")
                let finished = try await withThrowingTaskGroup(of: UserID?.self) { group in
                    for number in 0..<6 {
                        let caller = number % 2 == 0 ? bob : accounts.caller
                        group.addTask {
                            do throws(SkyrowError) {
                                _ = try await accounts.service.run(Actions.authMerge, guest.accessToken, by: caller)
                                return caller.userID
                            } catch {
                                guard error.code == .invalidToken else { throw error }
                                return nil
                            }
                        }
                    }
                    return try await group.reduce(into: Set<UserID>()) { users, user in
                        if let user { users.insert(user) }
                    }
                }
                #expect(finished.count == 1)
                let owner = try await accounts.fixture.psql("SELECT _database FROM note WHERE _id LIKE '%/\(round)'")
                #expect(owner == finished.first?.rawValue)
            }
        }
    }

    /// What either account saves meanwhile, by sessions that processes remember, is the other's in the end.
    @Test func savesBesideAMergeAreNotLost() async throws {
        try await withAccounts { accounts in
            try await accounts.fixture.withSecondService { second in
                for round in 0..<min(10, seededCases(3)) {
                    let guest = try await accounts.service.signUp(SignUpRequest())
                    let guestCaller = try await second.service.authenticate(.token(guest.accessToken), for: .user)
                    func save(_ id: String, _ caller: Caller, _ service: ActionService) async throws -> Bool {
                        let draft = draft("note/\(id)", ["title": .string("\(round)")])
                        return try await service.save(SaveRequest(draft, database: .own), by: caller).summaries == [
                            "saved"
                        ]
                    }
                    for number in 0..<5 { _ = try await save("\(round)-\(number)", guestCaller, second.service) }
                    let saves = [(guestCaller, second.service), (accounts.caller, accounts.service)].map {
                        caller,
                        service in
                        Task { () throws -> Int in
                            var count = 0
                            for number in 0..<40 where try await save("\(round)-\(number)", caller, service) {
                                count += 1
                            }
                            return count
                        }
                    }
                    let merge = try await accounts.service.run(
                        Actions.authMerge,
                        guest.accessToken,
                        by: accounts.caller
                    )
                    #expect(merge.isFinished)
                    for task in saves { #expect(try await task.value == 40) }
                    try await accounts.fixture.psql("UPDATE _deletion SET next_at = now() WHERE next_at < 'infinity'")
                    await accounts.service.continueDeletions()
                    // Each id that either has saved is there, the guest's under its own or another one; nothing is the guest's.
                    let counts = try await accounts.rows(
                        """
                        SELECT count(*) FILTER (WHERE _database <> '\(accounts.ann.userID)'),
                            count(DISTINCT split_part(_id, '~', 2)) FROM note WHERE title = '\(round)'
                        """
                    )
                    #expect(counts == "0|40")
                }
            }
        }
    }

    @Test func whatAnInterruptionLeavesIsGoneOnWith() async throws {
        try await withAccounts { accounts in
            try await accounts.psql(
                """
                INSERT INTO note (_id, _database, _owner, title)
                SELECT '~<guest>/' || number, '<guest>', '<guest>', 'x' FROM generate_series(1, 1200) AS number;
                INSERT INTO note (_id, _owner, title) SELECT number::text, '<guest>', 'x' FROM generate_series(1, 700) AS number;
                """
            )
            let hash = TokenHash(of: accounts.guest.accessToken).bytes
            let store = accounts.service.store
            let user = try await store.merges.begin(
                hash,
                into: accounts.ann.userID,
                recording: AuditEvent(.merge, by: .itself)
            )
            #expect(user == accounts.guest.userID)
            // A call does its part, and says that there is more.
            let part = try await store.merges.run(accounts.guest.userID, maximumRecords: 600)
            #expect(!part.isFinished && (500..<1500).contains(part.records))
            // Meanwhile the account is out of use.
            try await expectError(.accessTokenNotAccepted) {
                try await accounts.service.authenticate(.token(accounts.guest.accessToken), for: .user)
            }
            await accounts.service.continueMerges()
            let left = "SELECT count(*) FROM note WHERE '<guest>' IN (_owner, _database)"
                .replacing("<guest>", with: accounts.guest.userID.rawValue)
            #expect(try await accounts.rows(left) == "0")
            #expect(try await accounts.rows("SELECT id FROM _user") == "ann")
            let report = try await accounts.merge()
            #expect(report.isFinished && report.records == 1900)
        }
    }

    /// Whoever is to get the records may be deleted meanwhile; the anonymous account goes all the same.
    @Test func withoutTheOtherAccountNothingIsLeftBehind() async throws {
        try await withAccounts { accounts in
            try await accounts.psql(
                "INSERT INTO note (_id, _database, _owner) VALUES ('~<guest>/1', '<guest>', '<guest>')"
            )
            let store = accounts.service.store
            _ = try await store.merges.begin(
                TokenHash(of: accounts.guest.accessToken).bytes,
                into: accounts.ann.userID,
                recording: AuditEvent(.merge, by: .itself)
            )
            _ = try await accounts.service.run(
                Actions.userDelete,
                UserDeletion(userID: accounts.ann.userID),
                by: ServiceFixture.masterCaller
            )
            try await accounts.psql("UPDATE _merge SET next_at = now()")
            await accounts.service.continueMerges()
            #expect(try await accounts.rows("SELECT count(*) FROM _user") == "0")
            #expect(try await accounts.rows("SELECT count(*) FROM note") == "0")
        }
    }
}
