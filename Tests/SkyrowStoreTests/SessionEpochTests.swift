import SkyrowModel
import SkyrowTestSupport
import Testing

@testable import SkyrowPostgres
@testable import SkyrowStore

private func tokenHash(_ name: String) -> [UInt8] { Array(name.utf8) }

private func session(_ name: String, limit: Int = .max) -> NewSession {
    NewSession(tokenHash: tokenHash(name), expiresAt: nil, limit: limit)
}

/// Sessions that are used, opened and ended at the same moment.
@Suite(.timeLimit(.minutes(60))) struct SessionEpochTests {
    private func withAnn(_ body: (StoreFixture, AccountCredentials) async throws -> Void) async throws {
        try await withStore { fixture async throws in
            let users = fixture.store.users
            _ = try await users.create(
                NewAccount(id: "ann", passwordHash: "old", profile: [(field("username"), .string("ann"))]),
                session: session("first")
            )
            try await body(fixture, try #require(try await users.credentials(of: "ann")))
        }
    }

    /// What is under way when the tokens of an account are revoked, with the token that it would leave behind.
    enum Work: String, CaseIterable, Sendable {
        case touch, logIn, changePassword

        func run(_ users: UserTable, _ credentials: AccountCredentials) async throws -> SignedInAccount? {
            switch self {
            case .touch: try await users.touch("ann", tokenHash: tokenHash("first"))
            case .logIn: try await users.logIn(credentials, session: session("second"))
            case .changePassword:
                try await users.changePassword(of: credentials, to: "mine", session: session("second"))
            }
        }
    }

    /// What revokes them: this version's statement, an older version's, and a person's.
    static let revocations: [SQL] = [
        "UPDATE app_internal._user SET password_hash = 'new', token_valid_since = now(), epoch = epoch + 1",
        "UPDATE app_internal._user SET password_hash = 'new', token_valid_since = now()",
        "UPDATE app_internal._user SET disabled = true, token_valid_since = now()",
        "UPDATE app_internal._user SET epoch = epoch + 1",
    ]

    @Test(arguments: Work.allCases, revocations)
    func whatWaitsForARevocationLeavesNoSession(_ work: Work, _ revocation: SQL) async throws {
        try await withAnn { fixture, credentials in
            let users = fixture.store.users
            let task = try await fixture.store.client.withTransaction { holder in
                _ = try await holder.query("SELECT FROM app_internal._user FOR UPDATE")
                let task = Task { try await work.run(users, credentials) }
                try await waiting(until: "the statement waits for the row") {
                    try await fixture.database.sessionsWaitingForALock() == 1
                }
                try await holder.executeScript(revocation)
                return task
            }
            #expect(try await task.value == nil)
            try await fixture.psql("UPDATE _user SET disabled = false")
            for token in ["first", "second"] {
                #expect(try await fixture.store.sessions.session(tokenHash: tokenHash(token)) == nil)
            }
            _ = try await fixture.store.sessions.purgeExpired()
            #expect(try await fixture.psql("SELECT count(*) FROM _session").hasSuffix("0"))
        }
    }

    @Test func whatAnOlderVersionOpensBelongsToTheEpochOfItsMoment() async throws {
        try await withAnn { fixture, _ in
            let sessions = fixture.store.sessions
            // The change of a password as version 2 made it, in one statement.
            try await fixture.psql(
                """
                WITH account AS (
                    UPDATE _user SET password_hash = 'new', token_valid_since = now() WHERE id = 'ann' RETURNING id
                ), session AS (
                    INSERT INTO _session (token_hash, user_id) SELECT 'second', 'ann' WHERE EXISTS (SELECT FROM account)
                )
                SELECT FROM account
                """
            )
            #expect(try await sessions.session(tokenHash: tokenHash("first")) == nil)
            #expect(try await sessions.session(tokenHash: tokenHash("second")) != nil)
        }
    }

    @Test func aFurtherSessionEndsTheOneUnusedForLongest() async throws {
        try await withAnn { fixture, credentials in
            let (users, sessions) = (fixture.store.users, fixture.store.sessions)
            _ = try await users.create(NewAccount(id: "bob", passwordHash: nil, profile: []), session: session("bob"))
            for name in ["a", "b"] { _ = try await users.logIn(credentials, session: session(name, limit: 3)) }
            try await fixture.psql(
                "UPDATE _session SET last_used_at = now() + interval '1 h' WHERE token_hash = 'first'"
            )
            _ = try await users.logIn(credentials, session: session("c", limit: 3))
            var left: [String] = []
            for name in ["first", "a", "b", "c", "bob"] {
                if try await sessions.session(tokenHash: tokenHash(name)) != nil { left.append(name) }
            }
            #expect(left == ["first", "b", "c", "bob"])
            _ = try await users.logIn(credentials, session: session("only", limit: 1))
            #expect(try await fixture.psql("SELECT count(*) FROM _session WHERE user_id = 'ann'").hasSuffix("1"))
        }
    }

    @Test func aUseIsWrittenDownForSessionsThatAreThere() async throws {
        try await withAnn { fixture, _ in
            let sessions = fixture.store.sessions
            let later = Timestamp(microseconds: 900_000_000_000_000_000)
            try await sessions.noteUse(of: [tokenHash("first"), tokenHash("ended")], at: later)
            #expect(try await sessions.session(tokenHash: tokenHash("first"))?.lastUsedAt == later)
            try await sessions.noteUse(of: [tokenHash("first")], at: Timestamp(microseconds: 0))
            #expect(try await sessions.session(tokenHash: tokenHash("first"))?.lastUsedAt == later)
            #expect(try await fixture.psql("SELECT count(*) FROM _session").hasSuffix("1"))
            #expect(try await sessions.purgeExpired(unusedSince: later) == 0)
            #expect(try await sessions.purgeExpired(unusedSince: Timestamp(microseconds: later.microseconds + 1)) == 1)
        }
    }
}
