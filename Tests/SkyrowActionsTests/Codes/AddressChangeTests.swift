import SkyrowModel
import SkyrowProtocol
import SkyrowRemote
import SkyrowStore
import SkyrowTestSupport
import Testing

@testable import SkyrowActions

/// Another address of an account: proved by digits, and undone by a link to the one before.
@Suite(.timeLimit(.minutes(60))) struct AddressChangeTests {
    /// A session of a user.
    struct Visit {
        let user: UserID
        let own: Credentials

        var caller: Caller { Caller(kind: .user(user)) }
    }

    private func logIn(_ mailing: MailingFixture, _ name: String = "ann") async throws -> Visit {
        let result = try await mailing.logIn(name, "a long secret")
        return Visit(user: result.userID, own: .token(result.accessToken))
    }

    private func request(
        _ mailing: MailingFixture,
        _ visit: Visit,
        _ email: String = "new@example.org",
        password: String? = "a long secret",
        from client: ClientKey = .none,
        origin: RequestOrigin = RequestOrigin()
    ) async throws(SkyrowError) -> CodeTicket {
        try await mailing.service.run(
            Actions.authEmailChange,
            EmailChange(email: email, password: password),
            by: visit.caller,
            with: visit.own,
            from: client,
            origin: origin
        )
    }

    private func confirm(
        _ mailing: MailingFixture,
        _ visit: Visit,
        _ code: String,
        _ handle: String,
        origin: RequestOrigin = RequestOrigin()
    ) async throws(SkyrowError) {
        try await mailing.service.run(
            Actions.authEmailConfirm,
            EmailConfirmation(code: code, handle: handle),
            by: visit.caller,
            with: visit.own,
            origin: origin
        )
    }

    private func addresses(_ mailing: MailingFixture) async throws -> String {
        try await mailing.fixture.psql(
            """
            SELECT profile.email, coalesce(account.verified_email, '-')
            FROM "user" AS profile JOIN _user AS account ON account.id = profile._id ORDER BY account.created_at
            """
        )
    }

    /// Makes ann, whose address is proved, and changes it; returns her session and the code of the link to undo that.
    private func changed(_ mailing: MailingFixture) async throws -> (visit: Visit, undo: String) {
        try await mailing.signUp("ann")
        try await mailing.service.run(
            Actions.authVerifyConfirm,
            CodeConfirmation(code: try await mailing.lastMail().linkCode)
        )
        let visit = try await logIn(mailing)
        return (visit, try await change(mailing, visit, to: "new@example.org"))
    }

    private func change(
        _ mailing: MailingFixture,
        _ visit: Visit,
        to email: String,
        password: String = "a long secret"
    ) async throws -> String {
        let ticket = try await request(mailing, visit, email, password: password)
        try await confirm(mailing, visit, try await mailing.lastMail().digits, ticket.handle)
        return try await mailing.lastMail().linkCode
    }

    @Test func digitsToTheNewAddressChangeIt() async throws {
        try await withMailingService(.optional) { mailing in
            try await mailing.signUp("ann")
            try await mailing.service.run(
                Actions.authVerifyConfirm,
                CodeConfirmation(code: try await mailing.lastMail().linkCode)
            )
            let (visit, other) = (try await logIn(mailing), try await logIn(mailing))
            let ticket = try await request(mailing, visit, "New@Example.org")
            let mail = try await mailing.lastMail()
            #expect(mail.to.description == "New@Example.org" && mail.linkCode.isEmpty && mail.digits.utf8.count == 6)
            // Nothing is changed before, and digits count with their handle and for their account alone.
            #expect(try await addresses(mailing) == "ann@example.org|ann@example.org")
            try await mailing.signUp("bob")
            let bob = try await logIn(mailing, "bob")
            for (visit, handle) in [(visit, "c_none"), (bob, ticket.handle)] {
                try await expectError(.invalidToken) { try await confirm(mailing, visit, mail.digits, handle) }
            }
            try await confirm(mailing, visit, mail.digits, ticket.handle)
            #expect(
                try await addresses(mailing)
                    == "New@Example.org|New@Example.org\nbob@example.org|-"
            )
            try await expectError(.invalidToken) { try await confirm(mailing, visit, mail.digits, ticket.handle) }
            // This session goes on, the other one has ended.
            let caller = try await mailing.service.authenticate(visit.own, for: .user)
            #expect(caller.isVerified)
            try await expectError(.accessTokenNotAccepted) {
                try await mailing.service.authenticate(other.own, for: .user)
            }
            let notice = try await mailing.lastMail()
            #expect(notice.to.description == "ann@example.org" && notice.digits.isEmpty)
            #expect(notice.text.contains("https://api.example.org/base/auth/undo?code=\(notice.linkCode)"))
            _ = try await mailing.service.logIn(
                LogInRequest(authData: ["email": "new@example.org"], password: "a long secret")
            )
        }
    }

    @Test func itTakesAProofOfWhoAsks() async throws {
        try await withMailingService(.optional) { mailing in
            try await mailing.signUp("ann")
            let visit = try await logIn(mailing)
            try await expectError(.invalidCredentials) {
                try await request(mailing, visit, password: "a wrong secret")
            }
            try await expectError(.stepUpRequired) { try await request(mailing, visit, password: nil) }
            for email in ["no address", "a@b\r\nc.org", "\u{430}nn@example.org"] {
                try await expectError(.invalidArgument) { try await request(mailing, visit, email) }
            }
            #expect(try await mailing.fixture.psql("SELECT count(*) FROM _code WHERE kind = 'email'") == "0")
            var proved = visit.caller
            proved.isElevated = true
            _ = try await mailing.service.run(
                Actions.authEmailChange,
                EmailChange(email: "new@example.org"),
                by: proved,
                with: visit.own
            )
            #expect(try await mailing.lastMail().to.description == "new@example.org")
        }
    }

    /// An address of another account, and one that another account may get back, look like any other.
    @Test func noResponseRevealsWhetherAnAccountHasTheAddress() async throws {
        try await withMailingService(.optional) { mailing in
            try await mailing.signUp("ann")
            try await mailing.signUp("bob")
            _ = await mailing.sent()
            try await mailing.fixture.psql("DELETE FROM _mail")
            let visit = try await logIn(mailing)
            for email in ["free@example.org", "Bob@example.org"] {
                let ticket = try await request(mailing, visit, email)
                #expect(ticket.handle.utf8.count == 24)
                #expect(ticket.expiresAt == mailing.clock.clock.now().adding(.seconds(900)))
                for _ in 0..<6 {
                    let error = try await expectError(.invalidToken) {
                        try await confirm(mailing, visit, "12345x", ticket.handle)
                    }
                    #expect(error?.info.isEmpty == true)
                }
                let again = try await request(mailing, visit, email)
                #expect(again.handle != ticket.handle)
            }
            // One row of each table for either, and a mail to the one who has the address.
            #expect(try await mailing.fixture.psql("SELECT count(*) FROM _code WHERE kind = 'email'") == "2")
            #expect(try await mailing.fixture.psql("SELECT count(*) FROM _mail") == "2")
            let mails = await mailing.sent().suffix(2)
            #expect(mails.map(\.to.description) == ["free@example.org", "bob@example.org"])
            #expect(mails.last?.digits.isEmpty == true && mails.last?.text.contains("Someone tried") == true)
        }
    }

    @Test func anAddressThatWasTakenMeanwhileIsRefused() async throws {
        try await withMailingService(.optional) { mailing in
            try await mailing.signUp("ann")
            let visit = try await logIn(mailing)
            let ticket = try await request(mailing, visit, "bob@example.org")
            let digits = try await mailing.lastMail().digits
            try await mailing.signUp("bob")
            let error = try await expectError(.duplicated) {
                try await confirm(mailing, visit, digits, ticket.handle)
            }
            #expect(error?.info["arguments"] == .list([.string("email")]))
            #expect(try await addresses(mailing).hasPrefix("ann@example.org|"))
            _ = try await mailing.service.authenticate(visit.own, for: .user)
        }
    }

    /// What ends a code, with a use of it that would succeed otherwise.
    @Test(arguments: [
        "UPDATE _code SET digits_expire_at = now()", "UPDATE _code SET kind = 'verify'",
        "UPDATE _user SET epoch = epoch + 1", "UPDATE _user SET disabled = true", "UPDATE _code SET used_at = now()",
        "DELETE FROM _code", "DELETE FROM _session",
    ])
    func aCodeIsVoidAfter(_ change: String) async throws {
        try await withMailingService(.off) { mailing in
            try await mailing.signUp("ann")
            let visit = try await logIn(mailing)
            let ticket = try await request(mailing, visit)
            let digits = try await mailing.lastMail().digits
            try await mailing.fixture.psql(change)
            try await expectError(.invalidToken) { try await confirm(mailing, visit, digits, ticket.handle) }
            #expect(try await addresses(mailing) == "ann@example.org|-")
        }
    }

    @Test func oneCodeAtTheSameTimeCountsOnce() async throws {
        try await withMailingService(.optional) { mailing in
            try await mailing.signUp("ann")
            let visit = try await logIn(mailing)
            for round in 0..<min(10, seededCases(3)) {
                let ticket = try await request(mailing, visit, "new\(round)@example.org")
                let digits = try await mailing.lastMail().digits
                let successes = await withTaskGroup(of: Bool.self) { group in
                    for _ in 0..<5 {
                        group.addTask { (try? await confirm(mailing, visit, digits, ticket.handle)) != nil }
                    }
                    return await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
                }
                #expect(successes == 1)
                let address = try await addresses(mailing)
                #expect(address == "new\(round)@example.org|new\(round)@example.org")
                try await mailing.fixture.psql("DELETE FROM _mail")
            }
        }
    }

    @Test func theLinkToTheAddressBeforeUndoesWhatCameAfter() async throws {
        try await withMailingService(.optional) { mailing in
            let (visit, undo) = try await changed(mailing)
            // Whoever has changed it goes on: another password, a provider, and another address.
            let stolen = try await mailing.service.changePassword(
                ChangePasswordRequest(oldPassword: "a long secret", password: "stolen secret"),
                by: visit.caller,
                with: visit.own
            )
            let thief = Visit(user: visit.user, own: .token(stolen.accessToken))
            try await mailing.fixture.psql(
                "INSERT INTO _identity (provider, subject, user_id, profile) VALUES ('p', 's', '\(visit.user)', '{}')"
            )
            let later = try await change(mailing, thief, to: "third@example.org", password: "stolen secret")
            let pending = try await request(mailing, thief, "fourth@example.org", password: "stolen secret")
            let digits = try await mailing.lastMail().digits

            // An address gets one mail a minute.
            try await mailing.waitAMinute()
            try await mailing.service.run(Actions.authEmailUndo, undo)
            #expect(try await addresses(mailing) == "ann@example.org|ann@example.org")
            try await expectError(.accessTokenNotAccepted) {
                try await mailing.service.authenticate(thief.own, for: .user)
            }
            for password in ["stolen secret", "a long secret"] {
                try await expectError(.invalidCredentials) { try await mailing.logIn("ann", password) }
            }
            #expect(try await mailing.fixture.psql("SELECT count(*) FROM _identity") == "0")
            for code in [later, undo] {
                try await expectError(.invalidToken) { try await mailing.service.run(Actions.authEmailUndo, code) }
            }
            try await expectError(.invalidToken) { try await confirm(mailing, thief, digits, pending.handle) }
            // A mail to the address brings a new password.
            let mail = try await mailing.lastMail()
            #expect(mail.to.description == "ann@example.org")
            _ = try await mailing.service.run(
                Actions.authResetConfirm,
                ResetConfirmation(code: CodeConfirmation(code: mail.linkCode), password: "my own secret")
            )
            _ = try await mailing.logIn("ann", "my own secret")
        }
    }

    /// A thief confirms a factor, replaces one, or lets one wait; a factor of before that was left alone stays.
    @Test(arguments: [
        (before: false, after: "confirmed", left: ""), (false, "waiting", ""), (true, "confirmed", ""),
        (true, "waiting", "totp|f\nrecovery|f"), (true, "none", "totp|f\nrecovery|f"),
    ])
    func factorsThatWereConfirmedAfterTheChangeGoWithIt(before: Bool, after: String, left: String) async throws {
        try await withMailingService(.optional) { mailing in
            try await mailing.signUp("ann")
            try await mailing.service.run(
                Actions.authVerifyConfirm,
                CodeConfirmation(code: try await mailing.lastMail().linkCode)
            )
            let visit = try await logIn(mailing)
            let factor = """
                INSERT INTO _factor (user_id, kind, secret_sealed, hash, confirmed_at)
                VALUES ('\(visit.user)', 'totp', '\\x01', NULL, now()), ('\(visit.user)', 'recovery', NULL, '\\x02', now())
                """
            if before { try await mailing.fixture.psql(factor) }
            let undo = try await change(mailing, visit, to: "new@example.org")
            switch (after, before) {
            case ("confirmed", false): try await mailing.fixture.psql(factor)
            case ("confirmed", true):
                try await mailing.fixture.psql("UPDATE _factor SET confirmed_at = now(), hash = hash || hash")
            case ("waiting", false):
                try await mailing.fixture.psql(
                    """
                    INSERT INTO _factor (user_id, kind, pending_sealed, pending_at)
                    VALUES ('\(visit.user)', 'totp', '\\x03', now())
                    """
                )
            case ("waiting", true):
                try await mailing.fixture.psql(
                    "UPDATE _factor SET pending_sealed = '\\x03', pending_at = now() WHERE kind = 'totp'"
                )
            default: break
            }
            try await mailing.waitAMinute()
            try await mailing.service.run(Actions.authEmailUndo, undo)
            let factors = "SELECT kind, pending_sealed IS NOT NULL FROM _factor ORDER BY kind DESC"
            #expect(try await mailing.fixture.psql(factors) == left)
            let confirmation = ResetConfirmation(
                code: CodeConfirmation(code: try await mailing.lastMail().linkCode),
                password: "my own secret"
            )
            if left.isEmpty {
                _ = try await mailing.service.run(Actions.authResetConfirm, confirmation)
            } else {
                try await expectError(.secondFactorRequired) {
                    try await mailing.service.run(Actions.authResetConfirm, confirmation)
                }
            }
        }
    }

    /// The link of a later change gives back what that has changed, and the one of the first counts after it.
    @Test func theFirstLinkOutlivesTheLaterOnes() async throws {
        try await withMailingService(.optional) { mailing in
            let (visit, undo) = try await changed(mailing)
            let later = try await change(mailing, visit, to: "third@example.org")
            try await mailing.service.run(Actions.authEmailUndo, later)
            #expect(try await addresses(mailing) == "new@example.org|new@example.org")
            try await mailing.service.run(Actions.authEmailUndo, undo)
            #expect(try await addresses(mailing) == "ann@example.org|ann@example.org")
        }
    }

    @Test func ofSeveralUsesOfLinksAtOnceEachCountsOnce() async throws {
        try await withMailingService(.optional) { mailing in
            let (visit, first) = try await changed(mailing)
            let second = try await change(mailing, visit, to: "third@example.org")
            let successes = await withTaskGroup(of: Bool.self) { group in
                for number in 0..<12 {
                    let code = number % 2 == 0 ? first : second
                    group.addTask { (try? await mailing.service.run(Actions.authEmailUndo, code)) != nil }
                }
                return await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
            }
            // The second one does not count after the first.
            #expect((1...2).contains(successes))
            #expect(try await addresses(mailing) == "ann@example.org|ann@example.org")
        }
    }

    @Test func aLinkEndsAfterSevenDays() async throws {
        try await withMailingService(.optional) { mailing in
            let (_, undo) = try await changed(mailing)
            let days =
                "SELECT round(extract(epoch FROM link_expires_at - now()) / 86400) FROM _code WHERE kind = 'undo'"
            #expect(try await mailing.fixture.psql(days) == "7")
            try await mailing.fixture.psql("UPDATE _code SET link_expires_at = now() WHERE kind = 'undo'")
            try await expectError(.invalidToken) { try await mailing.service.run(Actions.authEmailUndo, undo) }
            #expect(try await addresses(mailing) == "new@example.org|new@example.org")
        }
    }

    /// While the link counts, the address is given to no other account, so that none can be in its way.
    @Test func theAddressIsKeptForItsAccount() async throws {
        try await withMailingService(.optional) { mailing in
            let (visit, undo) = try await changed(mailing)
            for email in ["ann@example.org", "ANN@example.org"] {
                let error = try await expectError(.duplicated) {
                    try await mailing.service.signUp(
                        SignUpRequest(authData: ["username": "eve", "email": email], password: "a long secret")
                    )
                }
                #expect(error?.info["arguments"] == .list([.string("email")]))
            }
            // Its own account may have it again.
            try await mailing.fixture.psql("DELETE FROM _mail")
            _ = try await change(mailing, visit, to: "ann@example.org")
            #expect(try await addresses(mailing) == "ann@example.org|ann@example.org")
            try await mailing.service.run(Actions.authEmailUndo, undo)
            try await mailing.fixture.psql("UPDATE _former_login SET until = now()")
            try await mailing.signUp("bob")
            try await mailing.fixture.psql(
                "UPDATE _user SET verified_email = 'bob@example.org' WHERE verified_email IS NULL"
            )
            let bob = try await logIn(mailing, "bob")
            try await mailing.fixture.psql("DELETE FROM _mail")
            _ = try await change(mailing, bob, to: "bob@example.com")
            try await mailing.fixture.psql("UPDATE _former_login SET until = now()")
            _ = try await mailing.service.signUp(
                SignUpRequest(authData: ["username": "carl", "email": "bob@example.org"], password: "a long secret")
            )
        }
    }

    /// A deleted account keeps its address from others, whatever was reserved for it before.
    @Test func theAddressOfADeletedAccountIsKeptFromOthers() async throws {
        try await withMailingService(.optional) { mailing in
            let (visit, _) = try await changed(mailing)
            try await mailing.fixture.psql("DELETE FROM _mail")
            _ = try await change(mailing, visit, to: "ann@example.org")
            _ = try await mailing.service.run(
                Actions.userDelete,
                UserDeletion(userID: visit.user),
                by: ServiceFixture.masterCaller
            )
            let kept = try await mailing.fixture.psql("SELECT count(*), count(user_id) FROM _former_login")
            // Name and address; that which it was changed to goes with the account.
            #expect(kept == "2|0")
            try await expectError(.duplicated) { try await mailing.signUp("ann") }
        }
    }

    /// One who mistyped the address at the sign-up gives no one else a way into the account by changing it.
    @Test(arguments: [(AddressVerification.off, true), (.optional, false)])
    func anAddressThatNothingHasProvedGetsALinkOnlyWhereNoneIs(
        _ verification: AddressVerification,
        _ hasLink: Bool
    ) async throws {
        try await withMailingService(verification) { mailing in
            try await mailing.signUp("ann")
            _ = await mailing.sent()
            let visit = try await logIn(mailing)
            let code = try await change(mailing, visit, to: "new@example.org")
            #expect(code.isEmpty != hasLink)
            let mail = try await mailing.lastMail()
            #expect(mail.to.description == "ann@example.org" && mail.subject.contains("was changed"))
            let codes = try await mailing.fixture.psql("SELECT count(*) FROM _code WHERE kind = 'undo'")
            #expect(codes == (hasLink ? "1" : "0"))
        }
    }

    /// A save changes no address where one has to be proved, whatever was proved of the user.
    @Test(arguments: AddressVerification.allCases)
    func aSaveChangesAnAddressOnlyWhereNoneIsProved(_ verification: AddressVerification) async throws {
        try await withMailingService(verification) { mailing in
            do throws(SkyrowError) {
                _ = try await mailing.service.signUp(
                    SignUpRequest(authData: ["username": "ann", "email": "ann@example.org"], password: "a long secret")
                )
            } catch {
                #expect(error.code == .verificationRequired)
            }
            let id = try await mailing.fixture.psql("SELECT id FROM _user")
            var ann = Caller(kind: .user(UserID(id)))
            ann.isElevated = true
            func save(_ fields: KeyValuePairs<String, RecordValue>) async throws -> SkyrowError? {
                let result = try await mailing.service.save(SaveRequest(draft("user/\(id)", fields)), by: ann)
                guard case .fresh(let outcomes) = result, case .failure(let error, _)? = outcomes.first else {
                    return nil
                }
                return error
            }
            for value in [RecordValue.string("new@example.org"), .null] {
                let error = try await save(["email": value, "city": "Bern"])
                guard verification != .off else {
                    #expect(error == nil)
                    continue
                }
                #expect(error?.code == .deniedArgument && error?.message.contains("auth:email:change") == true)
                #expect(error?.info["arguments"] == .list([.string("email")]))
            }
            let state = try await mailing.fixture.psql("SELECT coalesce(email, '-') FROM \"user\"")
            #expect(state == (verification == .off ? "-" : "ann@example.org"))
            // The same address, another key, and a first address are saved.
            if verification != .off {
                #expect(try await save(["email": "ann@example.org", "username": "anna"]) == nil)
            }
            try await mailing.fixture.psql("UPDATE \"user\" SET email = NULL")
            #expect(try await save(["email": "first@example.org"]) == nil)
        }
    }

    @Test func theAuditLogHasWhatWasChanged() async throws {
        try await withMailingService(.optional) { mailing in
            let origin = RequestOrigin(address: "192.0.2.7", requestID: "r1")
            try await mailing.signUp("ann")
            try await mailing.service.run(
                Actions.authVerifyConfirm,
                CodeConfirmation(code: try await mailing.lastMail().linkCode)
            )
            let visit = try await logIn(mailing)
            try await expectError(.invalidCredentials) {
                try await request(mailing, visit, password: "a wrong secret", origin: origin)
            }
            let ticket = try await request(mailing, visit, origin: origin)
            let digits = try await mailing.lastMail().digits
            let wrong = digits == "000000" ? "000001" : "000000"
            try await expectError(.invalidToken) {
                try await confirm(mailing, visit, wrong, ticket.handle, origin: origin)
            }
            try await confirm(mailing, visit, digits, ticket.handle, origin: origin)
            try await mailing.service.run(Actions.authEmailUndo, try await mailing.lastMail().linkCode, origin: origin)
            await mailing.service.storeAudit()
            let rows = try await mailing.fixture.psql(
                """
                SELECT event, outcome, host(address), data IS NULL FROM _audit WHERE request_id = 'r1'
                ORDER BY outcome = 'ok' DESC, id
                """
            )
            #expect(
                rows == """
                    address|ok|192.0.2.7|t
                    address.undo|ok|192.0.2.7|t
                    address|InvalidCredentials|192.0.2.7|t
                    address|InvalidToken|192.0.2.7|t
                    """
            )
        }
    }
}
