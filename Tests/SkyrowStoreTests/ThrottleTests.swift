import SkyrowModel
import SkyrowPostgres
import SkyrowTestSupport
import Testing

@testable import SkyrowCrypto
@testable import SkyrowStore

private let here: [UInt8] = [1]

private func guess(_ name: String, from client: [UInt8] = here, device: String? = nil) -> GuessSource {
    GuessSource(accounts: [.init(key: "username", value: name)], client: client, deviceID: device)
}

extension GuessAdmission {
    fileprivate var claim: GuessClaim? {
        switch self {
        case .claimed(let claim): claim
        case .refused: nil
        }
    }

    fileprivate var wait: Duration? {
        switch self {
        case .claimed: nil
        case .refused(let wait): wait
        }
    }
}

/// Guesses that are counted in the database.
@Suite(.timeLimit(.minutes(60))) struct ThrottleTests {
    private func withAnn(_ body: (StoreFixture, ThrottleTable) async throws -> Void) async throws {
        try await withStore { fixture async throws in
            let ann = NewAccount(id: "ann", passwordHash: "hash", profile: [(field("username"), .string("ann"))])
            _ = try await fixture.store.users.create(ann, session: nil)
            try await body(fixture, fixture.store.throttle)
        }
    }

    /// Has all counts and pauses be older.
    private func pass(_ seconds: Int, in fixture: StoreFixture) async throws {
        try await fixture.psql(
            """
            UPDATE _throttle SET window_start = window_start - interval '\(seconds) s',
                blocked_until = blocked_until - interval '\(seconds) s'
            """
        )
    }

    /// The pauses that follow `failures` wrong passwords, of which three are free.
    @Test(arguments: [(2, 0), (3, 0), (4, 2), (5, 4), (8, 32), (12, 512), (13, 900), (40, 900)])
    func aClientPausesLongerWithEachWrongPassword(_ failures: Int, _ pause: Int) async throws {
        try await withAnn { fixture, throttle in
            let limits = GuessLimits(client: 3, account: nil, total: nil)
            #expect(try await throttle.claim(guess("ann"), limits).claim != nil)
            try await fixture.psql("UPDATE _throttle SET failures = \(failures - 1)")
            let before = try await fixture.psql("SELECT clock_timestamp()")
            #expect(try await throttle.claim(guess("ann"), limits).claim != nil)
            let stored = try await fixture.psql(
                """
                SELECT failures, blocked_until >= '\(before)'::timestamptz + interval '\(pause) s',
                    blocked_until <= clock_timestamp() + interval '\(pause + (failures == 3 ? 1 : 0)) s'
                FROM _throttle
                """
            )
            #expect(stored == "\(max(failures, 1))|t|t")
            guard pause > 60 else { return }
            #expect(try await throttle.claim(guess("ann"), limits).wait != nil)
            // Others, and other accounts, are not concerned.
            #expect(try await throttle.claim(guess("ann", from: [2]), limits).claim != nil)
            #expect(try await throttle.claim(guess("bob"), limits).claim != nil)
            // For a quarter of an hour after the pause, the count is there.
            try await pass(pause + 800, in: fixture)
            #expect(try await throttle.claim(guess("ann"), limits).claim != nil)
            #expect(try await throttle.claim(guess("ann"), limits).wait != nil)
            try await pass(900 + 901, in: fixture)
            for _ in 0..<2 { #expect(try await throttle.claim(guess("ann"), limits).claim != nil) }
        }
    }

    @Test func aRightPasswordAndOneThatWasNotJudgedDoNotCount() async throws {
        try await withAnn { fixture, throttle in
            let limits = GuessLimits(client: 1000, account: 3, total: 3)
            for _ in 0..<10 {
                let withdrawn = try #require(try await throttle.claim(guess("ann"), limits).claim)
                try await throttle.withdraw(withdrawn)
                let right = try #require(try await throttle.claim(guess("ann"), limits).claim)
                try await throttle.succeed(right, by: "ann")
            }
            for _ in 0..<3 { #expect(try await throttle.claim(guess("bob"), limits).claim != nil) }
            #expect(try await throttle.claim(guess("bob"), limits).wait != nil)
        }
    }

    @Test func aRightPasswordOfOnesOwnFreesNoGuessesForOthers() async throws {
        try await withAnn { fixture, throttle in
            let limits = GuessLimits(client: nil, account: nil, total: 4)
            for name in ["x1", "x2", "x3"] { #expect(try await throttle.claim(guess(name), limits).claim != nil) }
            for _ in 0..<5 {
                let own = try #require(try await throttle.claim(guess("ann"), limits).claim)
                try await throttle.succeed(own, by: "ann")
            }
            #expect(try await throttle.claim(guess("x4"), limits).claim != nil)
            let wait = try #require(try await throttle.claim(guess("x5"), limits).wait)
            let left = try await fixture.psql(
                "SELECT floor(900 - extract(epoch FROM clock_timestamp() - min(window_start))) FROM _throttle"
            )
            let seconds = try #require(Int(left))
            #expect(wait <= .seconds(900) && wait >= .seconds(seconds))
            // Another client is not concerned, and the window ends.
            #expect(try await throttle.claim(guess("x5", from: [2]), limits).claim != nil)
            try await pass(900, in: fixture)
            #expect(try await throttle.claim(guess("x5"), limits).claim != nil)
        }
    }

    @Test func manyClientsTryOneAccountSoOftenAndItsUserLogsInAllTheSame() async throws {
        try await withAnn { fixture, throttle in
            let limits = GuessLimits(client: 5, account: 10, total: nil)
            let first = try #require(try await throttle.claim(guess("ann", device: "phone"), limits).claim)
            try await throttle.succeed(first, by: "ann")
            var admitted = 0
            for number in UInt8(0)..<30
            where try await throttle.claim(guess("ann", from: [9, number]), limits).claim != nil {
                admitted += 1
            }
            #expect(admitted == 10)
            #expect(try await throttle.claim(guess("ann", from: [9, 99]), limits).wait != nil)
            // Where the user logged in before, and with the device that they logged in with.
            #expect(try await throttle.claim(guess("ann"), limits).claim != nil)
            #expect(try await throttle.claim(guess("ann", from: [7], device: "phone"), limits).claim != nil)
            #expect(try await throttle.claim(guess("ann", from: [7], device: "other"), limits).wait != nil)
            // For another account it is as unknown as any.
            for number in 0..<10 {
                #expect(try await throttle.claim(guess("bob", from: [9, UInt8(number)]), limits).claim != nil)
            }
            #expect(try await throttle.claim(guess("bob", device: "phone"), limits).wait != nil)
            // After 30 days it is forgotten.
            try await fixture.psql("UPDATE _known_client SET seen_at = now() - interval '31 days'")
            #expect(try await throttle.claim(guess("ann"), limits).wait != nil)
            try await pass(3600, in: fixture)
            #expect(try await throttle.claim(guess("ann", from: [9, 99]), limits).claim != nil)
        }
    }

    /// A refused guess counts nowhere: who must pause does not use up the tries of others.
    @Test func aRefusedGuessCountsNowhere() async throws {
        try await withAnn { fixture, throttle in
            let limits = GuessLimits(client: 1, account: 5, total: 50)
            #expect(try await throttle.claim(guess("ann"), limits).claim != nil)
            try await fixture.psql(
                "UPDATE _throttle SET blocked_until = blocked_until + interval '1 h' WHERE blocked_until > window_start"
            )
            for _ in 0..<40 { #expect(try await throttle.claim(guess("ann"), limits).wait != nil) }
            let counts = try await fixture.psql("SELECT failures FROM _throttle ORDER BY 1")
            #expect(counts == "1\n1\n1")
            for number in 0..<4 {
                #expect(try await throttle.claim(guess("ann", from: [8, UInt8(number)]), limits).claim != nil)
            }
            #expect(try await throttle.claim(guess("ann", from: [8, 4]), limits).wait != nil)
            // Nor does it make a row.
            #expect(try await fixture.psql("SELECT count(*) FROM _throttle") == "11")
        }
    }

    /// Texts that mean one account are one, for an account that there is and for one that there is not.
    @Test(arguments: ["ann", "gone"])
    func lookalikesAreOneAccount(_ name: String) async throws {
        try await withAnn { fixture, throttle async throws in
            let limits = GuessLimits(client: nil, account: 4, total: nil)
            let wide = String(String.UnicodeScalarView(name.unicodeScalars.map { Unicode.Scalar($0.value + 0xFEE0)! }))
            for text in [name, name.uppercased(), wide, "\u{200B}\(name)"] {
                #expect(try await throttle.claim(guess(text), limits).claim != nil)
            }
            #expect(try await throttle.claim(guess(name), limits).wait != nil)
            #expect(try await fixture.psql("SELECT count(*) FROM _throttle") == "1")
            // A key of another name is another account.
            let mail = GuessSource(accounts: [.init(key: "email", value: name)], client: here)
            #expect(try await throttle.claim(mail, limits).claim != nil)
        }
    }

    @Test func allProcessesShareOneCount() async throws {
        try await withAnn { fixture, throttle in
            let limits = GuessLimits(client: 3, account: 7, total: nil)
            try await withPostgresClient(fixture.database.url) { client in
                let other = RecordStore(client: client, schema: "app", mode: .development, logger: .silent)
                try await other.prepare()
                let tables = [throttle, other.throttle]
                let admitted = try await withThrowingTaskGroup(of: Bool.self) { group in
                    for number in 0..<60 {
                        group.addTask {
                            let source = guess("ann", from: [9, UInt8(number)])
                            return try await tables[number % 2].claim(source, limits).claim != nil
                        }
                    }
                    return try await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
                }
                #expect(admitted == 7)
                // And both have the same key.
                #expect(try await fixture.psql("SELECT count(*) FROM _throttle") == "8")
            }
        }
    }

    /// A claim that waits for a row holds none that comes after it, whether the rows are there yet or not.
    @Test(arguments: [["2"], ["1", "2"], []])
    func rowsAreMadeAndLockedInOneOrder(_ existing: [String]) async throws {
        try await withAnn { fixture, _ in
            for bucket in existing {
                try await fixture.psql("INSERT INTO _throttle VALUES ('\(bucket)', 1, now(), now())")
            }
            try await withThrowingTaskGroup(of: Void.self) { group in
                try await fixture.store.client.withTransaction { other in
                    _ = try await other.query(
                        """
                        INSERT INTO app_internal._throttle AS throttle VALUES ('1', 1, now(), now())
                        ON CONFLICT (bucket) DO UPDATE SET failures = throttle.failures + 1
                        """
                    )
                    group.addTask {
                        try await fixture.psql(
                            """
                            SELECT _claim_guess(
                                '{2,1}', '{t,t}', '{9,9}', '{60,60}', '{f,f}', '{}'
                            )
                            """
                        )
                    }
                    try await waiting(until: "the claim waits for the first row") {
                        try await fixture.database.sessionsWaitingForALock() == 1
                    }
                    _ = try await other.query("SELECT FROM app_internal._throttle WHERE bucket = '2' FOR UPDATE NOWAIT")
                }
                try await group.waitForAll()
            }
            let counts = try await fixture.psql("SELECT failures FROM _throttle ORDER BY bucket")
            #expect(counts == (existing.contains("1") ? "3\n2" : existing.isEmpty ? "2\n1" : "2\n2"))
        }
    }

    /// Guesses of several accounts and clients at once never wait in a circle.
    @Test func claimsInAnyOrderEnd() async throws {
        try await withAnn { fixture, throttle in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<200 {
                    group.addTask {
                        let keys = (0..<3).map { key in
                            GuessSource.Account(key: "k\((number + key) % 4)", value: "v\((number * key) % 3)")
                        }
                        let source = GuessSource(accounts: keys, client: [UInt8(number % 3)])
                        let claim = try await throttle.claim(
                            source,
                            GuessLimits(client: 1000, account: 1000, total: 1000)
                        )
                        if number % 3 == 0, let claim = claim.claim { try await throttle.succeed(claim, by: "ann") }
                        if number % 3 == 1, let claim = claim.claim { try await throttle.withdraw(claim) }
                    }
                }
                try await group.waitForAll()
            }
            let total = try await fixture.psql("SELECT max(failures) < 200 AND count(*) > 5 FROM _throttle")
            #expect(total == "t")
        }
    }

    @Test func whatIsOverIsSweptAndTheRestIsBounded() async throws {
        try await withAnn { fixture, throttle in
            try await fixture.psql(
                """
                INSERT INTO _throttle (bucket, failures, window_start, blocked_until)
                SELECT sha256(convert_to(i::text, 'UTF8')), 1, moment, moment
                FROM generate_series(0, 99) AS i CROSS JOIN LATERAL (SELECT now() - (i + 0.5) * interval '25 min') AS at (moment);
                INSERT INTO _throttle VALUES ('long', 20, now() - interval '26 h', now() + interval '10 min');
                INSERT INTO _known_client VALUES ('old', 'ann', now() - interval '31 days'), ('new', 'ann', now());
                """
            )
            // Sixty of the last 25 hours, and the one that is refused.
            #expect(try await throttle.sweep() == 61)
            #expect(try await fixture.psql("SELECT bucket FROM _known_client") == #"\x6e6577"#)
            #expect(try await throttle.sweep(keeping: 10) == 10)
            // Those that are refused at present stay.
            #expect(try await fixture.psql("SELECT count(*) FROM _throttle WHERE bucket = 'long'") == "1")
        }
    }

    @Test func fiftyPlacesOfEachUserAreRemembered() async throws {
        try await withAnn { fixture, throttle in
            for number in 0..<60 {
                let source = guess("ann", from: [UInt8(number)])
                let claim = try #require(try await throttle.claim(source, GuessLimits(account: nil)).claim)
                try await throttle.succeed(claim, by: "ann")
            }
            #expect(try await fixture.psql("SELECT count(*) FROM _known_client") == "50")
            _ = try await fixture.psql("DELETE FROM \"user\"")
            #expect(try await fixture.psql("SELECT count(*) FROM _known_client") == "0")
        }
    }

    @Test func theBlocksOfAKeyMakeItsHMAC() {
        for count in [0, 1, 32, 64] {
            let key = (0..<count).map { UInt8($0) }
            let blocks = HMACBlocks(key: key)
            var inner = SHA256()
            inner.update(blocks.inner + Array("message".utf8))
            var outer = SHA256()
            outer.update(blocks.outer + inner.finish().bytes)
            #expect(outer.finish().bytes == HMACSHA256(key: key).code(of: Array("message".utf8)).bytes)
        }
    }
}
