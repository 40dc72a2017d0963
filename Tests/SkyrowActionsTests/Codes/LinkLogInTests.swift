import SkyrowModel
import SkyrowProtocol
import SkyrowRemote
import SkyrowStore
import SkyrowTestSupport
import Testing

@testable import SkyrowActions

/// Logging in by the code of a mail.
@Suite(.timeLimit(.minutes(60))) struct LinkLogInTests {
    private func withLinks(
        _ verification: AddressVerification = .off,
        url: String? = "https://app.example.org/in?from=mail",
        guesses: GuessLimits? = nil,
        test: String = #function,
        _ body: (MailingFixture) async throws -> Void
    ) async throws {
        try await withMailingService(verification, guesses: guesses, test: test) { mailing in
            try await body(
                mailing.configured {
                    $0.admitsLinkLogIn = true
                    $0.mail?.logInURL = url
                }
            )
        }
    }

    private func request(_ mailing: MailingFixture, _ email: String) async throws -> (handle: String, mail: MailMessage)
    {
        let ticket = try await mailing.service.run(Actions.authLinkRequest, CodeRequest(email: email))
        return (ticket.handle, try await mailing.lastMail())
    }

    private func logIn(
        _ mailing: MailingFixture,
        _ code: String,
        _ handle: String,
        from client: ClientKey = .none,
        origin: RequestOrigin = RequestOrigin()
    ) async throws(SkyrowError) -> AuthResult {
        try await mailing.service.run(
            Actions.authLinkLogIn,
            LinkLogIn(code: code, handle: handle),
            from: client,
            origin: origin
        )
    }

    /// Makes an account whose address is proved.
    @discardableResult
    private func signUp(_ mailing: MailingFixture, _ name: String) async throws -> AuthResult {
        let result = try await mailing.signUp(name)
        try await mailing.fixture.psql(
            "UPDATE _user SET verified_email = '\(name)@example.org' WHERE id = '\(result.userID)'"
        )
        return result
    }

    @Test func aCodeLogsInOnceAndWithItsHandleAlone() async throws {
        try await withLinks { mailing in
            let ann = try await signUp(mailing, "ann")
            for isLink in [true, false] {
                let (handle, mail) = try await request(mailing, "Ann@example.org")
                #expect(mail.to.description == "ann@example.org")
                #expect(mail.text.contains("https://app.example.org/in?from=mail&code="))
                let link = try #require(mail.text.firstMatch(of: /&code=([A-Za-z0-9_-]{43})/)).1
                let code = isLink ? String(link) : mail.digits
                let other = try await mailing.service.run(
                    Actions.authLinkRequest,
                    CodeRequest(email: "eve@example.org")
                )
                for handle in [other.handle, "c_none", "x", "c_" + String(repeating: "A", count: 22)] {
                    try await expectError(.invalidToken) { try await logIn(mailing, code, handle) }
                }
                let result = try await logIn(mailing, code, handle)
                #expect(result.userID == ann.userID && result.level == 1)
                let caller = try await mailing.service.authenticate(.token(result.accessToken), for: .user)
                #expect(caller.isVerified && caller.isRegistered && !caller.isElevated)
                try await expectError(.invalidToken) { try await logIn(mailing, code, handle) }
                // Its password and its other sessions stay.
                _ = try await mailing.logIn("ann", "a long secret")
                _ = try await mailing.service.authenticate(.token(ann.accessToken), for: .user)
                try await mailing.fixture.psql("DELETE FROM _mail")
            }
            let opened = try await mailing.fixture.psql("SELECT count(*) FROM _session WHERE created_with = 'link'")
            #expect(opened == "2")
        }
    }

    @Test func withoutAPageOfTheApplicationAMailHasDigitsAlone() async throws {
        try await withLinks(url: nil) { mailing in
            try await signUp(mailing, "ann")
            let (handle, mail) = try await request(mailing, "ann@example.org")
            #expect(!mail.text.contains("http") && !mail.text.contains("code="))
            #expect(mail.text.contains("To log in to Example, enter this code within 15 minutes"))
            _ = try await logIn(mailing, mail.digits, handle)
        }
    }

    @Test func itIsOffUnlessASettingSaysSo() async throws {
        try await withMailingService { mailing in
            try await mailing.signUp("ann")
            try await expectError(.notSupported) {
                try await mailing.service.run(Actions.authLinkRequest, CodeRequest(email: "ann@example.org"))
            }
            try await expectError(.notSupported) { try await logIn(mailing, "123456", "c_none") }
        }
    }

    /// What makes a code void, with a use of the code that would succeed without it.
    @Test(arguments: [
        "UPDATE _code SET link_expires_at = now(), digits_expire_at = now()", "UPDATE _code SET kind = 'reset'",
        "UPDATE _user SET epoch = epoch + 1", "UPDATE \"user\" SET email = 'new@example.org'",
        "UPDATE _user SET disabled = true", "UPDATE _code SET used_at = now()", "DELETE FROM _code",
    ])
    func aCodeIsVoidAfter(_ change: String) async throws {
        try await withLinks { mailing in
            try await signUp(mailing, "ann")
            let (handle, mail) = try await request(mailing, "ann@example.org")
            let link = try #require(mail.text.firstMatch(of: /&code=([A-Za-z0-9_-]{43})/)).1
            try await mailing.fixture.psql(change)
            let sessions = try await mailing.fixture.psql("SELECT count(*) FROM _session")
            try await expectError(.invalidToken) { try await logIn(mailing, String(link), handle) }
            try await expectError(.invalidToken) { try await logIn(mailing, mail.digits, handle) }
            #expect(try await mailing.fixture.psql("SELECT count(*) FROM _session") == sessions)
        }
    }

    @Test func oneCodeAtTheSameTimeLogsInOnce() async throws {
        try await withLinks { mailing in
            try await signUp(mailing, "ann")
            for _ in 0..<min(10, seededCases(3)) {
                let (handle, mail) = try await request(mailing, "ann@example.org")
                let link = try #require(mail.text.firstMatch(of: /&code=([A-Za-z0-9_-]{43})/)).1
                let before = try #require(Int(try await mailing.fixture.psql("SELECT count(*) FROM _session")))
                let successes = await withTaskGroup(of: Bool.self) { group in
                    for number in 0..<8 {
                        let code = number % 2 == 0 ? String(link) : mail.digits
                        group.addTask { (try? await logIn(mailing, code, handle)) != nil }
                    }
                    return await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
                }
                #expect(successes == 1)
                #expect(try await mailing.fixture.psql("SELECT count(*) FROM _session") == "\(before + 1)")
                try await mailing.fixture.psql("DELETE FROM _mail")
            }
        }
    }

    /// Who made an account with the address of another one has no part in it once that one has logged in.
    @Test func theFirstProofOfAnAddressEndsWhatWasThereBefore() async throws {
        try await withLinks { mailing in
            let squatter = try await mailing.signUp("ann")
            try await mailing.fixture.psql(
                """
                INSERT INTO _identity (provider, subject, user_id, profile)
                VALUES ('p', 's', '\(squatter.userID)', '{}')
                """
            )
            let (handle, mail) = try await request(mailing, "ann@example.org")
            let result = try await logIn(mailing, mail.digits, handle)
            #expect(result.userID == squatter.userID)
            let caller = try await mailing.service.authenticate(.token(result.accessToken), for: .user)
            #expect(caller.isVerified && caller.isRegistered)
            try await expectError(.accessTokenNotAccepted) {
                try await mailing.service.authenticate(.token(squatter.accessToken), for: .user)
            }
            try await expectError(.invalidCredentials) { try await mailing.logIn("ann", "a long secret") }
            #expect(try await mailing.fixture.psql("SELECT count(*) FROM _identity") == "0")
        }
    }

    @Test func aSecondFactorIsAskedForAndTheCodeIsUsedUp() async throws {
        try await withLinks { mailing in
            let ann = try await signUp(mailing, "ann")
            try await mailing.fixture.psql(
                """
                INSERT INTO _factor (user_id, kind, secret_sealed, confirmed_at)
                VALUES ('\(ann.userID)', 'totp', '\\x01', now())
                """
            )
            let (handle, mail) = try await request(mailing, "ann@example.org")
            let sessions = try await mailing.fixture.psql("SELECT count(*) FROM _session")
            try await expectError(.secondFactorRequired) { try await logIn(mailing, mail.digits, handle) }
            #expect(try await mailing.fixture.psql("SELECT count(*) FROM _session") == sessions)
            #expect(try await mailing.fixture.psql("SELECT count(*) FROM _pending_login") == "1")
            try await expectError(.invalidToken) { try await logIn(mailing, mail.digits, handle) }
        }
    }

    @Test func whereItIsRequiredItProvesTheAddress() async throws {
        try await withLinks(.required) { mailing in
            try await expectError(.verificationRequired) { try await mailing.signUp("ann") }
            try await mailing.waitAMinute()
            let (handle, mail) = try await request(mailing, "ann@example.org")
            let result = try await logIn(mailing, mail.digits, handle)
            #expect(try await mailing.service.authenticate(.token(result.accessToken), for: .user).isVerified)
        }
    }

    @Test func noResponseRevealsWhetherThereIsAnAccount() async throws {
        try await withLinks { mailing in
            try await signUp(mailing, "ann")
            for email in ["ann@example.org", "eve@example.org", "no address"] {
                let ticket = try await mailing.service.run(Actions.authLinkRequest, CodeRequest(email: email))
                let again = try await mailing.service.run(Actions.authLinkRequest, CodeRequest(email: email))
                #expect(ticket.handle.utf8.count == 24 && again.handle.utf8.count == 24 && again != ticket)
                #expect(ticket.expiresAt == mailing.clock.clock.now().adding(.seconds(900)))
                let isKnown = email == "ann@example.org"
                if !isKnown {
                    for _ in 0..<6 {
                        try await expectError(.invalidToken) { try await logIn(mailing, "123456", ticket.handle) }
                    }
                }
            }
            let rows = "SELECT count(*), count(user_id), max(attempts) FROM _code WHERE kind = 'link'"
            #expect(try await mailing.fixture.psql(rows) == "3|1|5")
            #expect(try await mailing.fixture.psql("SELECT count(*) FROM _mail") == "3")
            #expect(await mailing.sent().map(\.to.description) == ["ann@example.org"])
        }
    }

    private static let stranger = ClientKey(high: 1, low: 1)
    private static let home = ClientKey(high: 2, low: 2)

    @Test func theRequestsOfAStrangerLeaveAMailForTheOwner() async throws {
        try await withLinks { mailing in
            try await signUp(mailing, "ann")
            let link = CodeRequest(email: "ann@example.org")
            func ask(from client: ClientKey) async throws -> (handle: String, isSent: Bool) {
                let before = await mailing.sent().count
                let ticket = try await mailing.service.run(Actions.authLinkRequest, link, from: client)
                return (ticket.handle, await mailing.sent().count > before)
            }
            for number in 0..<7 {
                #expect(try await ask(from: Self.stranger).isSent == (number < 5))
                try await mailing.waitAMinute()
            }
            let own = try await ask(from: Self.home)
            #expect(own.isSent)
            let digits = try await mailing.lastMail().digits
            // What another asks for voids no code.
            #expect(try await !ask(from: Self.home).isSent)
            try await mailing.waitAMinute()
            try await mailing.fixture.psql("DELETE FROM _mail WHERE client_key = '\\x00000000000000010000000000000001'")
            #expect(try await ask(from: Self.stranger).isSent)
            _ = try await logIn(mailing, digits, own.handle, from: Self.home)
            try await mailing.waitAMinute()
            // Who has another mail is not the one who asked.
            let again = try await ask(from: Self.home)
            let mail = try await mailing.lastMail()
            try await expectError(.invalidToken) { try await logIn(mailing, digits, again.handle) }
            _ = try await logIn(mailing, mail.digits, again.handle)
        }
    }

    @Test(arguments: [CodeKind.link, .reset])
    func manyStrangersLeaveMailsForWhereTheOwnerWas(kind: CodeKind) async throws {
        try await withLinks { mailing in
            try await signUp(mailing, "ann")
            let request = CodeRequest(email: "Ann@example.org")
            func isSent(from client: ClientKey, to request: CodeRequest = request) async throws -> Bool {
                let before = try await mailing.fixture.psql("SELECT count(*) FROM _mail")
                if kind == .link {
                    _ = try await mailing.service.run(Actions.authLinkRequest, request, from: client)
                } else {
                    _ = try await mailing.service.run(Actions.authResetRequest, request, from: client)
                }
                return try await mailing.fixture.psql("SELECT count(*) FROM _mail") != before
            }
            // The owner has logged in from home before.
            let ticket = try await mailing.service.run(Actions.authLinkRequest, request, from: Self.home)
            _ = try await logIn(mailing, try await mailing.lastMail().digits, ticket.handle, from: Self.home)
            try await mailing.fixture.psql("DELETE FROM _mail")
            for number in 0..<20 {
                #expect(try await isSent(from: ClientKey(high: 3, low: UInt64(number))))
                #expect(try await !isSent(from: ClientKey(high: 4, low: UInt64(number))))
                if number < 19 { try await mailing.waitAMinute() }
            }
            // The owner waits for no one's minute, and the others for the hour.
            #expect(try await isSent(from: Self.home))
            try await mailing.waitAMinute()
            #expect(try await !isSent(from: ClientKey(high: 3, low: 20)))
            #expect(try await isSent(from: Self.home))
            #expect(try await !isSent(from: Self.home))
        }
    }

    @Test func digitsAreCountedByTheCodeAndByTheClient() async throws {
        try await withLinks(guesses: GuessLimits(client: 3, account: 50, total: 50)) { mailing in
            try await signUp(mailing, "ann")
            let (handle, mail) = try await request(mailing, "ann@example.org")
            let wrong = mail.digits == "000000" ? "000001" : "000000"
            let here = ClientKey(high: 1, low: 1)
            for _ in 0..<3 {
                try await expectError(.invalidToken) { try await logIn(mailing, wrong, handle, from: here) }
            }
            try await expectError(.rateLimited) { try await logIn(mailing, mail.digits, handle, from: here) }
            #expect(try await mailing.fixture.psql("SELECT attempts FROM _code") == "3")
        }
    }

    @Test func theAuditLogHasEachLogIn() async throws {
        try await withLinks { mailing in
            let origin = RequestOrigin(address: "192.0.2.7", requestID: "r1")
            try await signUp(mailing, "ann")
            let (handle, mail) = try await request(mailing, "ann@example.org")
            let wrong = mail.digits == "000000" ? "000001" : "000000"
            try await expectError(.invalidToken) { try await logIn(mailing, wrong, handle, origin: origin) }
            _ = try await logIn(mailing, mail.digits, handle, origin: origin)
            await mailing.service.storeAudit()
            let rows = try await mailing.fixture.psql(
                "SELECT event, outcome, session_id IS NOT NULL FROM _audit WHERE request_id = 'r1' ORDER BY outcome"
            )
            #expect(rows == "login|InvalidToken|f\nlogin|ok|t")
        }
    }
}
