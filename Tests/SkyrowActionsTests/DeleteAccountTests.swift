import SkyrowModel
import SkyrowProtocol
import SkyrowRemote
import SkyrowStore
import SkyrowTestSupport
import Testing

@testable import SkyrowActions

/// What is left of accounts that were deleted.
@Suite(.timeLimit(.minutes(60))) struct DeleteAccountTests {
    private static let rules = DeletedUserRules("note=delete,purchase=transfer:heir,item=delete,order=delete")!

    /// The types of these tests: notes refer to profiles, purchases to orders, items to orders and to each other.
    private static let types = """
        SELECT _create_type(name) FROM unnest('{note,post,purchase,order,item,entry,like}'::text[]) AS name;
        ALTER TABLE note ADD COLUMN title text COLLATE "C",
            ADD COLUMN about text COLLATE "C" REFERENCES "user" (_id) ON DELETE SET NULL DEFERRABLE;
        ALTER TABLE post ADD COLUMN title text COLLATE "C";
        ALTER TABLE "order" ADD COLUMN title text COLLATE "C";
        ALTER TABLE purchase ADD COLUMN "order" text COLLATE "C" REFERENCES "order" (_id) DEFERRABLE;
        ALTER TABLE item ADD COLUMN "order" text COLLATE "C" REFERENCES "order" (_id) DEFERRABLE,
            ADD COLUMN next text COLLATE "C" REFERENCES item (_id) DEFERRABLE;
        ALTER TABLE entry ADD COLUMN owner text COLLATE "C" REFERENCES "user" (_id) ON DELETE CASCADE DEFERRABLE,
            ADD COLUMN holder text COLLATE "C" REFERENCES "user" (_id) DEFERRABLE;
        SELECT _create_relation('post', 'fans', 'user');
        """

    private func withAccounts(
        test: String = #function,
        _ body: (MailingFixture, _ ann: AuthResult, _ bob: AuthResult) async throws -> Void
    ) async throws {
        try await withMailingService(.optional, test: test) { mailing in
            let ann = try await mailing.signUp("ann-login")
            let bob = try await mailing.signUp("bob-login")
            try await mailing.fixture.psql(Self.types)
            try await mailing.service.store.cache.reload()
            var configuration = mailing.service.configuration
            configuration.accountLife.deletedUsers = Self.rules
            configuration.accountLife.deletedUsers.types[type("purchase")] = .transfer(to: bob.userID)
            let service = ActionService(
                store: mailing.service.store,
                configuration: configuration,
                clock: mailing.clock.clock,
                logger: .quiet,
                observe: { mailing.observations.record($0) }
            )
            try await body(
                MailingFixture(
                    service: service,
                    fixture: mailing.fixture,
                    transport: mailing.transport,
                    observations: mailing.observations,
                    clock: mailing.clock
                ),
                ann,
                bob
            )
        }
    }

    private func delete(_ account: AuthResult, _ service: ActionService) async throws -> DeletionReport {
        let credentials = Credentials.token(account.accessToken)
        let caller = try await service.authenticate(credentials, for: .user)
        return try await service.run(Actions.authDelete, (), by: caller, with: credentials)
    }

    /// In which tables rows have a text anywhere, as `table: count` with a space between.
    private func tables(with text: String, _ fixture: ServiceFixture) async throws -> String {
        try await fixture.psql(
            """
            SELECT string_agg(name || ': ' || found, ' ' ORDER BY name COLLATE "C") FROM (
                SELECT relname AS name, (xpath('/row/c/text()', query_to_xml(format(
                    'SELECT count(*) AS c FROM %s AS x WHERE strpos(lower(x::text), lower(%L)) > 0', oid::regclass, '\(text)'
                ), false, true, '')))[1]::text::integer AS found
                FROM pg_class WHERE relnamespace IN ('app'::regnamespace, 'app_internal'::regnamespace) AND relkind = 'r'
            ) AS tables WHERE found > 0
            """
        )
    }

    @Test func nothingIsLeftThatTheConfigurationDoesNotName() async throws {
        try await withAccounts { mailing, ann, bob in
            let (service, fixture) = (mailing.service, mailing.fixture)
            let (a, b) = (ann.userID, bob.userID)
            let credentials = Credentials.token(ann.accessToken)
            let caller = try await service.authenticate(credentials, for: .user)
            // What an account comes by in its life.
            _ = try await service.logIn(
                LogInRequest(authData: ["username": "ann-login"], password: "a long secret"),
                from: ClientKey(high: 7, low: 9),
                origin: RequestOrigin(address: "192.0.2.77", requestID: "request-of-ann")
            )
            _ = try await service.save(
                SaveRequest(draft("post/kept", ["title": "words"]), atomic: true, key: "key-of-ann"),
                by: caller
            )
            _ = try await service.save(
                SaveRequest(draft("note/private", ["title": "private words"]), database: .own),
                by: caller
            )
            _ = try await service.save(SaveRequest(draft("note/gone")), by: caller)
            _ = try await service.delete(["note/gone"], by: caller)
            _ = try await service.run(Actions.authResetRequest, CodeRequest(email: "ann-login@example.org"))
            _ = try await service.run(Actions.authDefaultAccessSet, AccessList([]), by: caller)
            try await fixture.psql(
                """
                INSERT INTO note (_id, _owner, _created_by, _updated_by, title) VALUES
                    ('public', '\(a)', '\(a)', '\(a)', 'public words');
                INSERT INTO note (_id, _database, _owner, about) VALUES ('~\(b)/about', '\(b)', '\(b)', '\(a)');
                INSERT INTO post (_id, _owner, _created_by, _updated_by, _access) VALUES
                    ('edited', '\(b)', '\(b)', '\(a)', NULL), ('listed', '\(b)', '\(b)', '\(b)', '{"user:\(a)": "read"}');
                INSERT INTO purchase (_id, _owner, _created_by) VALUES ('1', '\(a)', '\(a)');
                INSERT INTO entry (_id, _owner, owner) VALUES ('of ann', '\(b)', '\(a)');
                INSERT INTO "post.fans" VALUES ('kept', '\(a)'), ('kept', '\(b)');
                INSERT INTO _relation (user_id, name, other_id) VALUES
                    ('\(a)', 'friend', '\(b)'), ('\(b)', 'friend', '\(a)'), ('\(b)', 'follow', '\(a)');
                INSERT INTO _role (name, owner, access) VALUES ('club', '\(a)', '{"user:\(a)": "update"}');
                INSERT INTO _user_role VALUES ('\(a)', 'club');
                INSERT INTO _user_group VALUES ('\(a)', 'golf');
                INSERT INTO _class_rule VALUES ('post', 'update', '{user:\(a)}');
                """
            )
            let hash = try await fixture.psql(
                "SELECT substr(token_hash::text, 3) FROM _session WHERE user_id = '\(a)' LIMIT 1"
            )
            for text in [
                a.rawValue, "ann-login", "private words", "public words", "192.0.2.77", "request-of-ann", hash,
            ] {
                #expect(try await !tables(with: text, fixture).isEmpty, "\(text)")
            }

            let report = try await delete(ann, service)
            #expect(report.isFinished)
            #expect(report.deleted == 3, "\(report)")
            #expect(report.transferred == 1)
            #expect(report.anonymised == 2)
            #expect(report.kept == 0)

            for text in [
                "ann-login", "private words", "public words", "192.0.2.77", "request-of-ann", hash,
                ann.accessToken, "golf", "key-of-ann",
            ] {
                #expect(try await tables(with: text, fixture) == "", "\(text)")
            }
            // Lists and rules name what matches nothing; the log, the deletion and the tombstone of the profile are to name it.
            #expect(
                try await tables(with: a.rawValue, fixture)
                    == "_audit: \(try await fixture.psql("SELECT count(*) FROM _audit WHERE user_id = '\(a)'"))"
                    + " _class_rule: 1 _deletion: 1 _role: 1 _tombstone: 1 post: 1"
            )
            #expect(
                try await fixture.psql(
                    "SELECT type, id = '\(a)', owner, database FROM _tombstone WHERE strpos(_tombstone::text, '\(a)') > 0"
                )
                    == "user|t||_public"
            )
            #expect(
                try await fixture.psql("SELECT DISTINCT event FROM _audit WHERE user_id = '\(a)' AND event = 'delete'")
                    == "delete"
            )
            #expect(try await fixture.psql("SELECT _owner FROM purchase") == b.rawValue)
            #expect(
                try await fixture.psql("SELECT _owner, _created_by, _updated_by, title FROM post WHERE _id = 'kept'")
                    == "|||words"
            )
            #expect(
                try await fixture.psql(
                    "SELECT _owner = '\(b)', _created_by = '\(b)', _updated_by FROM post WHERE _id = 'edited'"
                ) == "t|t|"
            )
            #expect(try await fixture.psql("SELECT _id, about FROM note") == "~\(b)/about|")
            #expect(try await fixture.psql("SELECT count(*) FROM \"post.fans\"") == "1")
            #expect(try await fixture.psql("SELECT count(*) FROM _relation") == "0")
            #expect(try await fixture.psql("SELECT coalesce(owner, 'none') FROM _role WHERE name = 'club'") == "none")
        }
    }

    @Test func theAccountIsGoneForItsUserAtOnce() async throws {
        try await withAccounts { mailing, ann, bob in
            let (service, fixture) = (mailing.service, mailing.fixture)
            let mails = await mailing.sent()
            let link = try #require(mails.first { $0.to.description.hasPrefix("ann") }).linkCode
            _ = try await delete(ann, service)
            try await expectError(.accessTokenNotAccepted) {
                try await service.authenticate(.token(ann.accessToken), for: .user)
            }
            for name in ["ann-login", "bob-login"] {
                let isBob = name == "bob-login"
                try await expect(isBob ? nil : .invalidCredentials) {
                    _ = try await mailing.logIn(name, "a long secret")
                }
            }
            try await expectError(.invalidToken) {
                try await service.run(Actions.authVerifyConfirm, CodeConfirmation(code: link))
            }
            try await expectError(.resourceNotFound) {
                try await service.run(
                    Actions.userDelete,
                    UserDeletion(userID: ann.userID),
                    by: ServiceFixture.masterCaller
                )
            }
            #expect(
                try await service.fetch("user/\(ann.userID)", by: ServiceFixture.masterCaller) == ["ResourceNotFound"]
            )
            #expect(try await fixture.psql("SELECT count(*) FROM _user WHERE id = '\(bob.userID)'") == "1")
        }
    }

    /// Expects an error of this code, or none.
    private func expect(_ code: ErrorCode?, _ body: () async throws -> Void) async throws {
        guard let code else { return try await body() }
        try await expectError(code, body)
    }

    @Test func aTokenAloneDeletesNoAccount() async throws {
        try await withAccounts { mailing, ann, _ in
            let service = mailing.service
            // Its sign-up was long ago.
            try await mailing.fixture.psql("UPDATE _session SET elevated_until = now() WHERE user_id = '\(ann.userID)'")
            service.forget(.all)
            let error = try await expectError(.stepUpRequired) { try await delete(ann, service) }
            #expect(error?.info["methods"] == .list([.string("password")]))
            #expect(
                try await mailing.fixture.psql("SELECT disabled, epoch FROM _user WHERE id = '\(ann.userID)'") == "f|0"
            )
            // What is remembered of a session is not enough in the end.
            let caller = try await service.authenticate(.token(ann.accessToken), for: .user)
            var elevated = caller
            elevated.isElevated = true
            try await expectError(.stepUpRequired) {
                try await service.run(Actions.authDelete, (), by: elevated, with: .token(ann.accessToken))
            }
            _ = try await service.run(
                Actions.authStepUp,
                .password("a long secret"),
                by: caller,
                with: .token(ann.accessToken)
            )
            #expect(try await delete(ann, service).isFinished)
            try await expectError(.accessTokenNotAccepted) {
                try await service.run(Actions.authDelete, (), by: elevated, with: .token(ann.accessToken))
            }
        }
    }

    @Test(arguments: [(0, true), (599, true), (601, false)])
    func anAnonymousAccountTakesANewSession(age: Int, isDeleted: Bool) async throws {
        try await withAccounts { mailing, _, _ in
            let account = try await mailing.service.signUp(SignUpRequest())
            try await mailing.fixture.psql(
                """
                UPDATE _session SET elevated_until = elevated_until - interval '\(age) seconds'
                WHERE user_id = '\(account.userID)'
                """
            )
            mailing.service.forget(.all)
            try await expect(isDeleted ? nil : .stepUpRequired) { _ = try await delete(account, mailing.service) }
            let count = try await mailing.fixture.psql("SELECT count(*) FROM _user WHERE id = '\(account.userID)'")
            #expect(count == (isDeleted ? "0" : "1"))
        }
    }

    @Test func referencesOfOthersKeepAnAccountUnlessTheyAreReleased() async throws {
        try await withAccounts { mailing, ann, bob in
            let (service, fixture) = (mailing.service, mailing.fixture)
            let (a, b) = (ann.userID, bob.userID)
            try await fixture.psql(
                """
                INSERT INTO entry (_id, _owner, holder) VALUES ('of ann', '\(a)', '\(a)');
                INSERT INTO entry (_id, _database, _owner, holder) VALUES ('~\(b)/1', '\(b)', '\(b)', '\(a)');
                INSERT INTO entry (_id, _owner, holder) VALUES ('of bob', '\(b)', '\(a)');
                """
            )
            for _ in 0..<2 {
                let error = try await expectError(.constraintViolated) { try await delete(ann, service) }
                #expect(error?.info["types"] == .list([.string("entry")]))
                #expect(try await fixture.psql("SELECT disabled FROM _user WHERE id = '\(a)'") == "f")
            }
            let request = UserDeletion(userID: a)
            try await expectError(.constraintViolated) {
                try await service.run(Actions.userDelete, request, by: ServiceFixture.masterCaller)
            }
            let report = try await service.run(
                Actions.userDelete,
                UserDeletion(userID: a, releases: true),
                by: ServiceFixture.masterCaller
            )
            #expect(report.isFinished && report.anonymised == 1)
            #expect(try await fixture.psql("SELECT count(*), count(holder) FROM entry") == "3|0")
        }
    }

    @Test func ownAndPrivateReferencesKeepNothing() async throws {
        try await withAccounts { mailing, ann, bob in
            let (a, b) = (ann.userID, bob.userID)
            try await mailing.fixture.psql(
                """
                INSERT INTO entry (_id, _owner, holder) VALUES ('of ann', '\(a)', '\(a)');
                INSERT INTO entry (_id, _database, _owner, holder) VALUES ('~\(b)/1', '\(b)', '\(b)', '\(a)');
                """
            )
            #expect(try await delete(ann, mailing.service).isFinished)
            #expect(try await mailing.fixture.psql("SELECT count(*), count(holder) FROM entry") == "2|0")
        }
    }

    @Test func recordsThatReferToEachOtherGoAndThoseThatOthersReferToAreKeptWithoutAName() async throws {
        try await withAccounts { mailing, ann, bob in
            let (service, fixture) = (mailing.service, mailing.fixture)
            let (a, b) = (ann.userID, bob.userID)
            try await fixture.psql(
                """
                SET CONSTRAINTS ALL DEFERRED;
                INSERT INTO "order" (_id, _owner) SELECT 'o' || n, '\(a)' FROM generate_series(1, 3) AS n;
                INSERT INTO "order" (_id, _database, _owner)
                    SELECT '~\(a)/o' || n, '\(a)', '\(a)' FROM generate_series(1, 600) AS n;
                INSERT INTO item (_id, _database, _owner, "order")
                    SELECT '~\(a)/i' || n, '\(a)', '\(a)', '~\(a)/o' || n FROM generate_series(1, 600) AS n;
                INSERT INTO item (_id, _owner, "order") VALUES ('i1', '\(a)', 'o1');
                INSERT INTO purchase (_id, _owner, "order") VALUES ('p', '\(b)', 'o3');
                BEGIN;
                SET CONSTRAINTS ALL DEFERRED;
                INSERT INTO item (_id, _owner, next) SELECT 'c' || n, '\(a)', 'c' || n % 700 + 1 FROM generate_series(1, 700) AS n;
                COMMIT;
                """
            )
            let report = try await delete(ann, service)
            #expect(report.isFinished && report.kept == 1, "\(report)")
            #expect(report.deleted == 2 + 1200 + 1 + 700)
            #expect(try await fixture.psql("SELECT count(*) FROM item") == "0")
            #expect(try await fixture.psql("SELECT _id, _owner IS NULL FROM \"order\"") == "o3|t")
            #expect(try await fixture.psql("SELECT \"order\" FROM purchase") == "o3")
        }
    }

    @Test func moreThanAStatementTakesGoesWithARecordAndWithTheProfile() async throws {
        try await withAccounts { mailing, ann, bob in
            let (a, b) = (ann.userID, bob.userID)
            try await mailing.fixture.psql(
                """
                ALTER TABLE post ADD COLUMN note text COLLATE "C" REFERENCES note (_id) ON DELETE CASCADE DEFERRABLE;
                CREATE INDEX ON post (note);
                CREATE INDEX ON entry (owner);
                INSERT INTO note (_id, _owner) VALUES ('large', '\(a)'), ('small', '\(a)');
                INSERT INTO post (_id, _owner, note) SELECT 'r' || n, '\(b)', 'large' FROM generate_series(1, 10001) AS n;
                INSERT INTO entry (_id, _owner, owner) SELECT 'e' || n, '\(b)', '\(a)' FROM generate_series(1, 10001) AS n;
                """
            )
            try await mailing.service.store.cache.reload()
            let report = try await delete(ann, mailing.service)
            #expect(report.isFinished && report.deleted == 2 + 10_001 + 10_001, "\(report)")
            #expect(try await mailing.fixture.psql("SELECT count(*) FROM post") == "0")
            #expect(try await mailing.fixture.psql("SELECT count(*) FROM entry") == "0")
        }
    }

    @Test func anAccountWithTenThousandRecordsIsDeleted() async throws {
        try await withAccounts { mailing, ann, _ in
            let a = ann.userID
            try await mailing.fixture.psql(
                """
                INSERT INTO note (_id, _owner, title) SELECT 'n' || n, '\(a)', 'title ' || n FROM generate_series(1, 4000) AS n;
                INSERT INTO post (_id, _owner, title) SELECT 'p' || n, '\(a)', 'title ' || n FROM generate_series(1, 3000) AS n;
                INSERT INTO note (_id, _database, _owner, title)
                    SELECT '~\(a)/n' || n, '\(a)', '\(a)', 'title ' || n FROM generate_series(1, 3000) AS n;
                """
            )
            let report = try await delete(ann, mailing.service)
            #expect(report.isFinished && report.deleted == 7000 && report.anonymised == 3000)
            // Not all of them for each of them
            #expect(try await mailing.fixture.database.rowsRead() < 100 * 10_000)
        }
    }

    // MARK: Going on

    @Test func aDeletionThatEndedHalfWayIsGoneOnWithAndItsAccountIsOutOfUse() async throws {
        try await withAccounts { mailing, ann, _ in
            let (service, fixture) = (mailing.service, mailing.fixture)
            let a = ann.userID
            try await fixture.psql(
                "INSERT INTO note (_id, _owner) SELECT 'n' || n, '\(a)' FROM generate_series(1, 2000) AS n"
            )
            // As where the process dies.
            let event = AuditEvent(.delete, by: .itself)
            #expect(try await service.store.deletions.begin(a, if: .none, recording: event))
            let report = try await service.store.deletions.run(a, Self.rules, maximumRecords: 600, looksForTraces: true)
            #expect(!report.isFinished && report.deleted == 1000)
            #expect(try await fixture.psql("SELECT count(*) FROM note") == "1000")
            // Nothing opens it again meanwhile.
            try await expectError(.invalidCredentials) { _ = try await mailing.logIn("ann-login", "a long secret") }
            for isDisabled in [false, true] {
                try await expectError(.resourceNotFound) {
                    try await service.run(
                        Actions.authDisableSet,
                        DisabledState(userID: a, isDisabled: isDisabled),
                        by: ServiceFixture.masterCaller
                    )
                }
            }
            try await expectError(.resourceNotFound) {
                try await service.run(Actions.me, by: Caller(kind: .master(actingAs: a)), with: Credentials())
            }
            await service.continueDeletions()
            #expect(try await fixture.psql("SELECT count(*) FROM note") == "0")
            #expect(try await fixture.psql("SELECT count(*) FROM _user WHERE id = '\(a)'") == "0")
            #expect(
                try await fixture.psql("SELECT finished_at IS NOT NULL FROM _deletion WHERE user_id = '\(a)'") == "t"
            )
        }
    }

    @Test func aLeasedDeletionIsNotTakenByAnother() async throws {
        try await withAccounts { mailing, ann, _ in
            let deletions = mailing.service.store.deletions
            #expect(try await deletions.begin(ann.userID, if: .none, recording: AuditEvent(.delete, by: .itself)))
            #expect(try await deletions.claim(atMost: 10).isEmpty)
            try await mailing.fixture.psql("UPDATE _deletion SET next_at = now() - interval '1 second'")
            #expect(try await deletions.claim(atMost: 10).map(\.user) == [ann.userID])
            #expect(try await deletions.claim(atMost: 10).isEmpty)
        }
    }

    /// A request that was let in before the deletion may save afterwards.
    @Test func whatIsSavedLateGoesToo() async throws {
        try await withAccounts { mailing, ann, _ in
            let (service, fixture) = (mailing.service, mailing.fixture)
            let a = ann.userID
            let caller = try await service.authenticate(.token(ann.accessToken), for: .user)
            _ = try await delete(ann, service)
            let outcomes = try await service.save(SaveRequest(draft("note/late"), draft("post/late")), by: caller)
                .summaries
            #expect(outcomes == ["saved", "saved"])
            _ = try await service.save(SaveRequest(draft("note/late"), database: .own), by: caller)
            try await fixture.psql("INSERT INTO post (_id, _updated_by) VALUES ('changed', '\(a)')")
            try await fixture.psql("UPDATE _deletion SET next_at = now(), finished_at = now() - interval '16 minutes'")
            await service.continueDeletions()
            #expect(try await fixture.psql("SELECT count(*) FROM note") == "0")
            #expect(try await fixture.psql("SELECT count(*), count(_owner), count(_updated_by) FROM post") == "2|0|0")
            #expect(try await tables(with: a.rawValue, fixture).hasSuffix("_deletion: 1 _tombstone: 1"))
            // That was the last time.
            #expect(try await fixture.psql("SELECT next_at FROM _deletion") == "infinity")
        }
    }

    // MARK: Names

    @Test func idAndLoginKeysAreNotGivenAgainForThirtyDays() async throws {
        try await withAccounts { mailing, ann, bob in
            let (service, fixture) = (mailing.service, mailing.fixture)
            _ = try await delete(ann, service)
            let again = SignUpRequest(authData: ["username": "ANN-login"], password: "a long secret")
            let error = try await expectError(.duplicated) { try await service.signUp(again) }
            #expect(error?.info["arguments"] == .list([.string("username")]))
            let address = SignUpRequest(authData: ["email": "ann-login@example.org"], password: "a long secret")
            try await expectError(.duplicated) { try await service.signUp(address) }
            // Nor by another name of an account that there is.
            let caller = try await service.authenticate(.token(bob.accessToken), for: .user)
            let renamed = draft("user/\(bob.userID)", ["username": "ann-login"])
            #expect(try await service.save(SaveRequest(renamed), by: caller).summaries == ["Duplicated"])
            let psql =
                "INSERT INTO \"user\" (_id) VALUES ('\(ann.userID)'); INSERT INTO _user (id) VALUES ('\(ann.userID)')"
            await #expect(throws: (any Error).self) { _ = try await fixture.psql(psql) }
            // Others are free.
            _ = try await mailing.signUp("eve-login")
            // Forced, and after 30 days.
            try await service.store.deletions.forgetFormerLogins([field("username"): "ann-LOGIN"])
            let anew = try await service.signUp(again)
            _ = try await delete(anew, service)
            try await expectError(.duplicated) { try await service.signUp(again) }
            try await fixture.psql(
                """
                UPDATE _former_login SET until = until - interval '30 days 1 minute';
                UPDATE _deletion SET finished_at = finished_at - interval '31 days', next_at = 'infinity';
                """
            )
            _ = try await service.signUp(again)
            _ = try await service.signUp(address)
            try await service.store.deletions.purge()
            #expect(try await fixture.psql("SELECT count(*) FROM _former_login") == "0")
            #expect(try await fixture.psql("SELECT count(*) FROM _deletion") == "0")
        }
    }
}
