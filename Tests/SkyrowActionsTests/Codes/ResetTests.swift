import SkyrowModel
import SkyrowPostgres
import SkyrowProtocol
import SkyrowRemote
import SkyrowStore
import SkyrowTestSupport
import Testing

@testable import SkyrowActions

@Suite struct ResetTests {
    private func confirmation(
        _ code: String,
        _ handle: String? = nil,
        password: String = "another secret"
    ) -> ResetConfirmation {
        ResetConfirmation(code: CodeConfirmation(code: code, handle: handle), password: password)
    }

    @Test func aLinkSetsANewPasswordOnce() async throws {
        try await withMailingService { mailing in
            let before = try await mailing.signUp("ann")
            _ = try await mailing.service.run(Actions.authResetRequest, CodeRequest(email: "Ann@Example.org"))
            let mail = try await mailing.lastMail()
            #expect(mail.to.description == "ann@example.org")
            #expect(mail.text.contains("https://api.example.org/base/auth/reset?code=\(mail.linkCode)"))
            #expect(mail.linkCode.utf8.count == 43 && mail.digits.utf8.count == 6)
            let result = try await mailing.service.run(Actions.authResetConfirm, confirmation(mail.linkCode))
            #expect(result.userID == before.userID)
            _ = try await mailing.service.authenticate(.token(result.accessToken), for: .user)
            // The sessions of before are over, and so is the old password.
            try await expectError(.accessTokenNotAccepted) {
                try await mailing.service.authenticate(.token(before.accessToken), for: .user)
            }
            try await expectError(.invalidCredentials) { try await mailing.logIn("ann", "a long secret") }
            _ = try await mailing.logIn("ann", "another secret")
            try await expectError(.invalidToken) {
                try await mailing.service.run(
                    Actions.authResetConfirm,
                    confirmation(mail.linkCode, password: "a third secret")
                )
            }
            _ = try await mailing.logIn("ann", "another secret")
            // The owner of the address hears of it.
            let notice = try await mailing.lastMail()
            #expect(notice.to.description == "ann@example.org")
            #expect(notice.subject.contains("was changed") && notice.linkCode.isEmpty && notice.digits.isEmpty)
        }
    }

    /// Any role of PostgreSQL can hold the advisory lock that requests for an address once waited for.
    @Test func noLockOfOthersHoldsUpTheMailsOfAnAddress() async throws {
        try await withMailingService { mailing in
            try await mailing.signUp("ann")
            let lock = """
                SELECT pg_advisory_lock(hashtextextended(
                    'app/address/' || encode(sha256('ann@example.org'), 'hex'), 6020
                ))
                """
            let service = mailing.service
            try await service.store.client.withTransaction { transaction in
                try await transaction.executeScript(SQL(trustedText: lock))
                _ = try await waiting(for: "a request for a mail") {
                    try await service.run(Actions.authResetRequest, CodeRequest(email: "ann@example.org"))
                }
                try await transaction.execute("SELECT pg_advisory_unlock_all()")
            }
            #expect(try await mailing.lastMail().to.description == "ann@example.org")
            // Nothing is left of those that waited for each other.
            #expect(try await mailing.fixture.psql("SELECT count(*) FROM _throttle WHERE failures = 0") == "0")
        }
    }

    @Test func digitsCountWithTheHandleOfWhoAsked() async throws {
        try await withMailingService { mailing in
            try await mailing.signUp("ann")
            let ticket = try await mailing.service.run(Actions.authResetRequest, CodeRequest(email: "ann@example.org"))
            let digits = try await mailing.lastMail().digits
            let other = try await mailing.service.run(Actions.authResetRequest, CodeRequest(email: "bob@example.org"))
            for handle in [nil, other.handle, "c_", "x"] {
                try await expectError(.invalidToken) {
                    try await mailing.service.run(Actions.authResetConfirm, confirmation(digits, handle))
                }
            }
            let grouped = digits.prefix(3) + " " + digits.dropFirst(3)
            _ = try await mailing.service.run(Actions.authResetConfirm, confirmation(String(grouped), ticket.handle))
            _ = try await mailing.logIn("ann", "another secret")
            try await expectError(.invalidToken) {
                try await mailing.service.run(Actions.authResetConfirm, confirmation(digits, ticket.handle))
            }
        }
    }

    @Test func fiveWrongDigitsEndTheDigitsAndNotTheLink() async throws {
        try await withMailingService { mailing in
            try await mailing.signUp("ann")
            let ticket = try await mailing.service.run(Actions.authResetRequest, CodeRequest(email: "ann@example.org"))
            let mail = try await mailing.lastMail()
            let wrong = mail.digits == "000000" ? "000001" : "000000"
            for _ in 0..<5 {
                try await expectError(.invalidToken) {
                    try await mailing.service.run(Actions.authResetConfirm, confirmation(wrong, ticket.handle))
                }
            }
            try await expectError(.invalidToken) {
                try await mailing.service.run(Actions.authResetConfirm, confirmation(mail.digits, ticket.handle))
            }
            _ = try await mailing.service.run(Actions.authResetConfirm, confirmation(mail.linkCode))
        }
    }

    /// New codes do not give a guesser further tries without end.
    @Test func anAddressHasFifteenGuessesADay() async throws {
        try await withMailingService { mailing in
            try await mailing.signUp("ann")
            for _ in 0..<3 {
                let ticket = try await mailing.service.run(
                    Actions.authResetRequest,
                    CodeRequest(email: "ann@example.org")
                )
                let digits = try await mailing.lastMail().digits
                let wrong = digits == "000000" ? "000001" : "000000"
                for _ in 0..<5 {
                    try await expectError(.invalidToken) {
                        try await mailing.service.run(Actions.authResetConfirm, confirmation(wrong, ticket.handle))
                    }
                }
                try await mailing.waitAMinute()
            }
            let ticket = try await mailing.service.run(Actions.authResetRequest, CodeRequest(email: "ann@example.org"))
            var digits = try await mailing.lastMail().digits
            try await expectError(.invalidToken) {
                try await mailing.service.run(Actions.authResetConfirm, confirmation(digits, ticket.handle))
            }
            try await mailing.waitAMinute()
            try await mailing.fixture.psql("UPDATE _code SET guesses_since = guesses_since - interval '25 hours'")
            let next = try await mailing.service.run(Actions.authResetRequest, CodeRequest(email: "ann@example.org"))
            digits = try await mailing.lastMail().digits
            _ = try await mailing.service.run(Actions.authResetConfirm, confirmation(digits, next.handle))
        }
    }

    /// What makes a code void, with a use of the code that would succeed without it.
    @Test(arguments: [
        "UPDATE _code SET link_expires_at = now(), digits_expire_at = now()",
        "UPDATE _code SET kind = 'verify'",
        "UPDATE _user SET epoch = epoch + 1",
        "UPDATE _user SET token_valid_since = now()",
        "UPDATE \"user\" SET email = 'new@example.org'",
        "UPDATE _user SET disabled = true",
        "UPDATE _code SET used_at = now()",
        "DELETE FROM _code",
        "DELETE FROM \"user\"",
    ])
    func aCodeIsVoidAfter(_ change: String) async throws {
        try await withMailingService { mailing in
            try await mailing.signUp("ann")
            let ticket = try await mailing.service.run(Actions.authResetRequest, CodeRequest(email: "ann@example.org"))
            let mail = try await mailing.lastMail()
            try await mailing.fixture.psql(change)
            let hashes = try await mailing.fixture.psql("SELECT password_hash FROM _user")
            try await expectError(.invalidToken) {
                try await mailing.service.run(Actions.authResetConfirm, confirmation(mail.linkCode))
            }
            try await expectError(.invalidToken) {
                try await mailing.service.run(Actions.authResetConfirm, confirmation(mail.digits, ticket.handle))
            }
            #expect(try await mailing.fixture.psql("SELECT password_hash FROM _user") == hashes)
        }
    }

    @Test func aNewCodeEndsTheOneBefore() async throws {
        try await withMailingService { mailing in
            try await mailing.signUp("ann")
            _ = try await mailing.service.run(Actions.authResetRequest, CodeRequest(email: "ann@example.org"))
            let first = try await mailing.lastMail()
            try await mailing.waitAMinute()
            _ = try await mailing.service.run(Actions.authResetRequest, CodeRequest(email: "ann@example.org"))
            let second = try await mailing.lastMail()
            try await expectError(.invalidToken) {
                try await mailing.service.run(Actions.authResetConfirm, confirmation(first.linkCode))
            }
            _ = try await mailing.service.run(Actions.authResetConfirm, confirmation(second.linkCode))
        }
    }

    @Test func oneCodeAtTheSameTimeCountsOnce() async throws {
        try await withMailingService { mailing in
            try await mailing.signUp("ann")
            for round in 0..<min(10, seededCases(3)) {
                let ticket = try await mailing.service.run(
                    Actions.authResetRequest,
                    CodeRequest(email: "ann@example.org")
                )
                let mail = try await mailing.lastMail()
                let successes = await withTaskGroup(of: Bool.self) { group in
                    for number in 0..<8 {
                        let isLink = number % 2 == 0
                        let request = confirmation(
                            isLink ? mail.linkCode : mail.digits,
                            isLink ? nil : ticket.handle,
                            password: "secret \(round) \(number)"
                        )
                        group.addTask { (try? await mailing.service.run(Actions.authResetConfirm, request)) != nil }
                    }
                    return await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
                }
                #expect(successes == 1)
                #expect(try await mailing.fixture.psql("SELECT count(*) FROM _session") == "1")
                try await mailing.waitAMinute()
                try await mailing.fixture.psql("DELETE FROM _mail")
            }
        }
    }

    @Test func noResponseRevealsWhetherThereIsAnAccount() async throws {
        try await withMailingService { mailing in
            try await mailing.signUp("ann")
            try await mailing.signUp("bob")
            try await mailing.fixture.psql(
                "UPDATE _user SET disabled = true WHERE id = (SELECT _id FROM \"user\" WHERE username = 'bob')"
            )
            for email in ["ann@example.org", "bob@example.org", "eve@example.org", "no address", "a\r\nb@c.org"] {
                let ticket = try await mailing.service.run(Actions.authResetRequest, CodeRequest(email: email))
                #expect(ticket.handle.utf8.count == 24)
                #expect(ticket.expiresAt == mailing.clock.clock.now().adding(.seconds(900)))
                // Nor do further ones, which are too many for an address with and without an account.
                let again = try await mailing.service.run(Actions.authResetRequest, CodeRequest(email: email))
                #expect(again.handle.utf8.count == 24 && again.handle != ticket.handle)
            }
            #expect(try await mailing.fixture.psql("SELECT count(*) FROM _mail WHERE state = 'waiting'") == "5")
            #expect(await mailing.sent().map(\.to.description) == ["ann@example.org"])
            let rows = try await mailing.fixture.psql(
                "SELECT state, count(*), count(link_code), count(digits) FROM _mail GROUP BY state ORDER BY state"
            )
            #expect(rows == "dropped|4|0|0\nsent|1|0|0")
            // The address of no account is not kept.
            let dump = try await mailing.fixture.psql("SELECT _mail::text, _code::text FROM _mail, _code")
            #expect(!dump.contains("eve@example.org"))
        }
    }

    @Test func aHandleOfNoAccountRefusesLikeAnother() async throws {
        try await withMailingService { mailing in
            let ticket = try await mailing.service.run(Actions.authResetRequest, CodeRequest(email: "eve@example.org"))
            for _ in 0..<6 {
                let error = try await expectError(.invalidToken) {
                    try await mailing.service.run(Actions.authResetConfirm, confirmation("123456", ticket.handle))
                }
                #expect(error?.message == "The code is not valid. Request a new one." && error?.info.isEmpty == true)
            }
            #expect(try await mailing.fixture.psql("SELECT attempts FROM _code") == "5")
        }
    }

    @Test func limitsCountByAddressAndByNetwork() async throws {
        try await withMailingService { mailing in
            try await mailing.signUp("ann")
            let here = ClientKey(high: 1, low: 2)
            func count() async throws -> String {
                try await mailing.fixture.psql("SELECT count(*) FROM _mail")
            }
            // One a minute, five an hour, in whatever form the address is written.
            for number in 1...7 {
                let form = number % 2 == 0 ? "ann@example.org" : "ANN@example.ORG"
                _ = try await mailing.service.run(Actions.authResetRequest, CodeRequest(email: form), from: here)
                _ = try await mailing.service.run(Actions.authResetRequest, CodeRequest(email: form), from: here)
                #expect(try await count() == "\(min(number, 5))")
                try await mailing.waitAMinute()
            }
            // Twenty an hour by a network, whatever the addresses.
            for number in 0..<20 {
                _ = try await mailing.service.run(
                    Actions.authResetRequest,
                    CodeRequest(email: "a\(number)@example.org"),
                    from: here
                )
            }
            #expect(try await count() == "20")
            _ = try await mailing.service.run(
                Actions.authResetRequest,
                CodeRequest(email: "b@example.org"),
                from: ClientKey(high: 1, low: 3)
            )
            #expect(try await count() == "21")
            try await mailing.fixture.psql("UPDATE _mail SET created_at = created_at - interval '1 hour'")
            _ = try await mailing.service.run(
                Actions.authResetRequest,
                CodeRequest(email: "ann@example.org"),
                from: here
            )
            #expect(try await count() == "22")
        }
    }

    @Test func requestsAtTheSameTimeMakeOneMail() async throws {
        try await withMailingService { mailing in
            try await mailing.signUp("ann")
            await withTaskGroup(of: Void.self) { group in
                for number in 0..<16 {
                    let client = ClientKey(high: 0, low: UInt64(number % 3 + 1))
                    group.addTask {
                        _ = try? await mailing.service.run(
                            Actions.authResetRequest,
                            CodeRequest(email: "ann@example.org"),
                            from: client
                        )
                    }
                }
            }
            #expect(try await mailing.fixture.psql("SELECT count(*) FROM _mail") == "1")
        }
    }

    @Test func aWeakPasswordCostsNoCode() async throws {
        try await withMailingService { mailing in
            try await mailing.signUp("ann")
            let ticket = try await mailing.service.run(Actions.authResetRequest, CodeRequest(email: "ann@example.org"))
            let mail = try await mailing.lastMail()
            for password in ["", String(repeating: "x", count: 4097)] {
                try await expectError(.invalidArgument) {
                    try await mailing.service.run(
                        Actions.authResetConfirm,
                        confirmation(mail.digits, ticket.handle, password: password)
                    )
                }
            }
            #expect(try await mailing.fixture.psql("SELECT attempts FROM _code") == "0")
            _ = try await mailing.service.run(Actions.authResetConfirm, confirmation(mail.digits, ticket.handle))
        }
    }

    /// Digits are counted by their client as passwords are, whatever the handles; links, which cannot be guessed, are not.
    @Test func guessesOfDigitsAreCountedByTheirClient() async throws {
        try await withMailingService(guesses: GuessLimits(client: nil, account: nil, total: 3)) { mailing in
            try await mailing.signUp("ann")
            let here = ClientKey(high: 1, low: 1)
            let ticket = try await mailing.service.run(Actions.authResetRequest, CodeRequest(email: "ann@example.org"))
            let mail = try await mailing.lastMail()
            for _ in 0..<3 {
                let unknown = CodeHandle(OneTimeCode().id).description
                try await expectError(.invalidToken) {
                    try await mailing.service.run(Actions.authResetConfirm, confirmation("123456", unknown), from: here)
                }
            }
            for _ in 0..<2 {
                try await expectError(.rateLimited) {
                    try await mailing.service.run(
                        Actions.authResetConfirm,
                        confirmation(mail.digits, ticket.handle),
                        from: here
                    )
                }
            }
            // What was refused has cost no attempt, and others guess on.
            #expect(try await mailing.fixture.psql("SELECT attempts FROM _code") == "0")
            try await expectError(.invalidToken) {
                try await mailing.service.run(
                    Actions.authResetConfirm,
                    confirmation("no digits", ticket.handle),
                    from: ClientKey(high: 1, low: 2)
                )
            }
            _ = try await mailing.service.run(Actions.authResetConfirm, confirmation(mail.linkCode), from: here)
        }
    }

    /// A code that was right is no guess: one client uses as many as there are.
    @Test func rightDigitsAreNotCounted() async throws {
        try await withMailingService(guesses: GuessLimits(client: 2, account: 2, total: 2)) { mailing in
            try await mailing.signUp("ann")
            let here = ClientKey(high: 1, low: 1)
            for round in 0..<4 {
                let ticket = try await mailing.service.run(
                    Actions.authResetRequest,
                    CodeRequest(email: "ann@example.org")
                )
                let digits = try await mailing.lastMail().digits
                _ = try await mailing.service.run(
                    Actions.authResetConfirm,
                    confirmation(digits, ticket.handle, password: "secret number \(round)"),
                    from: here
                )
                try await mailing.fixture.psql("DELETE FROM _mail")
            }
            // A handle has no further use, so none is remembered; where the reader of the address is, is one place.
            #expect(try await mailing.fixture.psql("SELECT count(*) FROM _known_client") == "1")
        }
    }

    @Test func theAuditLogHasWhatCodesDid() async throws {
        try await withMailingService(.optional) { mailing in
            let origin = RequestOrigin(address: "192.0.2.7", requestID: "r1")
            let ann = try await mailing.signUp("ann")
            let verification = try await mailing.lastMail().linkCode
            try await mailing.service.run(
                Actions.authVerifyConfirm,
                CodeConfirmation(code: verification),
                origin: origin
            )
            for number in 0..<2 {
                try await mailing.fixture.psql("DELETE FROM _mail")
                let ticket = try await mailing.service.run(
                    Actions.authResetRequest,
                    CodeRequest(email: "ann@example.org")
                )
                let mail = try await mailing.lastMail()
                let wrong = mail.digits == "000000" ? "000001" : "000000"
                for (code, handle) in [(wrong, ticket.handle), ("none", nil), (wrong, "c_none")] as [(String, String?)]
                {
                    try await expectError(.invalidToken) {
                        try await mailing.service.run(
                            Actions.authResetConfirm,
                            confirmation(code, handle),
                            origin: origin
                        )
                    }
                }
                if number == 0 {
                    _ = try await mailing.service.run(
                        Actions.authResetConfirm,
                        confirmation(mail.linkCode),
                        origin: origin
                    )
                } else {
                    try await mailing.service.resetPasswordOnPage(
                        confirmation(mail.linkCode),
                        Call(by: .anonymous, from: origin)
                    )
                }
            }
            _ = try await mailing.service.run(
                Actions.authResetPassword,
                NewPassword(userID: ann.userID, password: "set by an operator"),
                by: ServiceFixture.masterCaller,
                origin: origin
            )
            await mailing.service.storeAudit()
            let rows = try await mailing.fixture.psql(
                """
                SELECT event, outcome, replace(coalesce(actor, '-'), user_id, 'ann'), session_id IS NOT NULL
                FROM _audit WHERE request_id = 'r1' AND host(address) = '192.0.2.7' AND user_id = (SELECT id FROM _user)
                ORDER BY outcome = 'ok' DESC, id
                """
            )
            #expect(
                rows == """
                    verify|ok|user:ann|f
                    reset|ok|user:ann|t
                    reset|ok|user:ann|f
                    master|ok|master|t
                    password|ok|master|f
                    reset|InvalidToken|-|f
                    reset|InvalidToken|-|f
                    """
            )
            #expect(try await mailing.fixture.psql("SELECT count(*) FROM _audit WHERE user_id IS NULL") == "0")
        }
    }

    @Test func withoutMailNothingIsAskedFor() async throws {
        try await withService { fixture in
            try await expectError(.notSupported) {
                try await fixture.service.run(Actions.authResetRequest, CodeRequest(email: "ann@example.org"))
            }
            try await expectError(.notSupported) {
                try await fixture.service.run(
                    Actions.authVerifyRequest,
                    VerificationRequest(email: "a@example.org"),
                    by: .anonymous
                )
            }
        }
    }

    @Test func theMasterKeySetsAPassword() async throws {
        try await withMailingService { mailing in
            let before = try await mailing.signUp("ann")
            let request = NewPassword(userID: before.userID, password: "set by an operator")
            try await expectError(.permissionDenied) {
                try await mailing.service.run(
                    Actions.authResetPassword,
                    request,
                    by: Caller(kind: .user(before.userID))
                )
            }
            let result = try await mailing.service.run(
                Actions.authResetPassword,
                request,
                by: ServiceFixture.masterCaller
            )
            _ = try await mailing.service.authenticate(.token(result.accessToken), for: .user)
            try await expectError(.accessTokenNotAccepted) {
                try await mailing.service.authenticate(.token(before.accessToken), for: .user)
            }
            _ = try await mailing.logIn("ann", "set by an operator")
            #expect(try await mailing.lastMail().subject.contains("was changed"))
            try await expectError(.resourceNotFound) {
                try await mailing.service.run(
                    Actions.authResetPassword,
                    NewPassword(userID: "none", password: "set by an operator"),
                    by: ServiceFixture.masterCaller
                )
            }
            try await mailing.fixture.psql("UPDATE _user SET disabled = true")
            try await expectError(.userDisabled) {
                try await mailing.service.run(Actions.authResetPassword, request, by: ServiceFixture.masterCaller)
            }
        }
    }

    /// Of accounts without an address one may have it as its name.
    @Test func aNameThatIsAnAddressGetsTheMail() async throws {
        try await withMailingService(.optional) { mailing in
            func signUp(_ authData: [String: String]) async throws -> UserID {
                try await mailing.service.signUp(SignUpRequest(authData: authData, password: "a long secret")).userID
            }
            let ann = try await signUp(["username": "Ann@example.org"])
            _ = try await signUp(["username": "bob@example.org", "email": "bob@example.com"])
            let carl = try await signUp(["username": "carl", "email": "dora@example.org"])
            _ = try await signUp(["username": "dora@example.org"])
            try await mailing.fixture.psql("UPDATE _mail SET state = 'sent', created_at = now() - interval '2 hours'")
            // The name of an account with an address is no address, and an address goes before a name.
            for (email, user, to) in [
                ("ann@example.org", ann, "Ann@example.org"), ("bob@example.org", nil, nil),
                ("dora@example.org", carl, "dora@example.org"),
            ] as [(String, UserID?, String?)] {
                let before = await mailing.sent().count
                let ticket = try await mailing.service.run(Actions.authResetRequest, CodeRequest(email: email))
                let mails = await mailing.sent().dropFirst(before)
                #expect(mails.map(\.to.description) == (to.map { [$0] } ?? []))
                guard let user, let mail = mails.first else { continue }
                let confirmation = ResetConfirmation(
                    code: CodeConfirmation(code: mail.digits, handle: ticket.handle),
                    password: "another secret"
                )
                #expect(try await mailing.service.run(Actions.authResetConfirm, confirmation).userID == user)
            }
            // It is no verified address of the profile, and a second factor from after that proof stays.
            #expect(
                try await mailing.fixture.psql("SELECT verified_email FROM _user WHERE id = '\(ann)'")
                    == "Ann@example.org"
            )
            try await mailing.fixture.psql(
                "INSERT INTO _factor (user_id, kind, secret_sealed, confirmed_at) VALUES ('\(ann)', 'totp', '\\x01', now())"
            )
            try await mailing.waitAMinute()
            _ = try await mailing.service.run(Actions.authResetRequest, CodeRequest(email: "ann@example.org"))
            let code = try await mailing.lastMail().linkCode
            try await expectError(.secondFactorRequired) {
                try await mailing.service.run(
                    Actions.authResetConfirm,
                    ResetConfirmation(code: CodeConfirmation(code: code), password: "a third secret")
                )
            }
            // Changed names void the code.
            try await mailing.waitAMinute()
            _ = try await mailing.service.run(Actions.authResetRequest, CodeRequest(email: "ann@example.org"))
            let last = CodeConfirmation(code: try await mailing.lastMail().linkCode)
            try await mailing.fixture.psql("UPDATE \"user\" SET username = 'ann' WHERE _id = '\(ann)'")
            try await expectError(.invalidToken) {
                try await mailing.service.run(
                    Actions.authResetConfirm,
                    ResetConfirmation(code: last, password: "a fourth secret")
                )
            }
        }
    }
}
