import SkyrowModel
import SkyrowProtocol
import SkyrowStore
import SkyrowTestSupport
import Testing

@testable import SkyrowActions

@Suite struct ProviderLinkTests {
    @Test func anAnonymousAccountIsRegisteredByALinkAndKeepsEverything() async throws {
        try await withProviderService { providers in
            let anonymous = try await providers.service.signUp(SignUpRequest())
            let (before, credentials) = try await providers.caller(anonymous)
            #expect(!before.isRegistered)
            let note = RecordDraft(id: try RecordID("note/1"), fields: [(try FieldName("title"), "mine")])
            let saved = try await providers.service.save(
                SaveRequest(database: .everyone, items: [.draft(note)]),
                by: before
            )
            guard case .fresh(let outcomes) = saved, case .record? = outcomes.first else {
                Issue.record("The record was not saved.")
                return
            }
            try await providers.link("ann", with: anonymous)
            // The session goes on, and its user is registered from now on.
            let after = try await providers.service.authenticate(credentials, for: .user)
            #expect(after.userID == before.userID && after.isRegistered)
            let again = try await providers.logIn("ann")
            #expect(again.userID == anonymous.userID && again.isNew == false)
            #expect(try await providers.fixture.psql("SELECT _owner FROM note") == anonymous.userID.rawValue)
            #expect(
                try await providers.fixture.psql(
                    "SELECT actor, data ->> 'provider' FROM _audit WHERE event = 'provider.link' AND outcome = 'ok'"
                ) == "user:\(anonymous.userID)|test"
            )
        }
    }

    @Test func aLinkIsKnownToEveryProcessByItsNotice() async throws {
        try await withProviderService { providers in
            let anonymous = try await providers.service.signUp(SignUpRequest())
            let credentials = Credentials.token(anonymous.accessToken)
            // The running service is another process to this one.
            let other = providers.fixture.service
            let before = try await other.authenticate(credentials, for: .user)
            #expect(!before.isRegistered)
            providers.fixture.observations.clear()
            try await providers.link("ann", with: anonymous)
            try await providers.fixture.observations.wait(for: "the notice") { $0 == .sessionsForgotten(.users(1)) }
            try await waiting(until: "the user is registered there") {
                try await other.authenticate(credentials, for: .user).isRegistered
            }
        }
    }

    @Test func oneIdentityIsOneAccounts() async throws {
        try await withProviderService { providers in
            let ann = try await providers.logIn("ann")
            let bob = try await providers.logIn("bob")
            try await expectError(.duplicated) { try await providers.link("ann", with: bob) }
            // The same once more is nothing new, another one of the same provider is.
            try await providers.link("ann", with: ann)
            try await expectError(.duplicated) { try await providers.link("anna", with: ann) }
            try await providers.link("ann", with: ann, of: "second")
            let (caller, _) = try await providers.caller(ann)
            let identities = try await providers.service.run(Actions.authProviderList, by: caller)
            #expect(identities.map(\.provider) == ["second", "test"] && identities.allSatisfy { $0.subject == "ann" })
            #expect(identities.map { $0.lastUsedAt == nil } == [true, false])
            #expect(try await providers.fixture.psql("SELECT count(*) FROM _identity") == "3")
        }
    }

    @Test func ofTwoAccountsThatLinkOneIdentityAtOnceOneGetsIt() async throws {
        try await withProviderService { providers in
            for round in 0..<min(10, seededCases(3)) {
                let accounts = [
                    try await providers.service.signUp(SignUpRequest()),
                    try await providers.service.signUp(SignUpRequest()),
                ]
                let linked = try await withThrowingTaskGroup(of: Bool.self) { group in
                    for account in accounts {
                        group.addTask {
                            do {
                                try await providers.link("shared-\(round)", with: account)
                                return true
                            } catch let error as SkyrowError where error.code == .duplicated {
                                return false
                            }
                        }
                    }
                    return try await group.reduce(0) { $0 + ($1 ? 1 : 0) }
                }
                #expect(linked == 1)
            }
        }
    }

    @Test func anAccountHasABoundedNumberOfIdentities() async throws {
        try await withProviderService { providers in
            let ann = try await providers.logIn("ann")
            try await providers.fixture.psql(
                """
                INSERT INTO _identity (provider, subject, user_id)
                SELECT 'p' || number, 'ann', '\(ann.userID)' FROM generate_series(1, \(AccountIdentity.maximumCount - 1)) AS number
                """
            )
            try await expectError(.invalidArgument) { try await providers.link("ann", with: ann, of: "second") }
            try await providers.unlink("p1", from: ann)
            try await providers.link("ann", with: ann, of: "second")
        }
    }

    @Test func theLastWayInStays() async throws {
        try await withProviderService { providers in
            let ann = try await providers.logIn("ann")
            try await expectError(.constraintViolated) { try await providers.unlink("test", from: ann) }
            try await expectError(.resourceNotFound) { try await providers.unlink("second", from: ann) }
            try await providers.link("ann", with: ann, of: "second")
            try await providers.unlink("test", from: ann)
            try await expectError(.constraintViolated) { try await providers.unlink("second", from: ann) }
            try await expectError(.invalidCredentials) {
                try await providers.logIn(by: try await providers.token("ann", of: "closed"))
            }
            // A password is a way in where there is a login key to go with it.
            _ = try await providers.service.run(
                Actions.authResetPassword,
                NewPassword(userID: ann.userID, password: "a long secret"),
                by: ServiceFixture.masterCaller
            )
            let again = try await providers.logIn(by: try await providers.token("ann", of: "second"))
            #expect(again.userID == ann.userID)
            try await expectError(.constraintViolated) { try await providers.unlink("second", from: again) }
            try await providers.fixture.psql("UPDATE \"user\" SET username = 'ann' WHERE _id = '\(ann.userID)'")
            try await providers.unlink("second", from: again)
            _ = try await providers.service.logIn(
                LogInRequest(authData: ["username": "ann"], password: "a long secret")
            )
            #expect(
                try await providers.fixture.psql(
                    "SELECT data ->> 'provider' FROM _audit WHERE event = 'provider.unlink' ORDER BY id"
                ) == "test\nsecond"
            )
        }
    }

    @Test func ofTheLastTwoWaysInOneStays() async throws {
        try await withProviderService { providers in
            for round in 0..<min(20, seededCases(5)) {
                let ann = try await providers.logIn("user-\(round)")
                try await providers.link("user-\(round)", with: ann, of: "second")
                let removed = try await withThrowingTaskGroup(of: Bool.self) { group in
                    for name in ["test", "second"] {
                        group.addTask {
                            do {
                                try await providers.unlink(name, from: ann)
                                return true
                            } catch let error as SkyrowError where error.code == .constraintViolated {
                                return false
                            }
                        }
                    }
                    return try await group.reduce(0) { $0 + ($1 ? 1 : 0) }
                }
                #expect(removed == 1)
                let left = try await providers.fixture.psql(
                    "SELECT count(*) FROM _identity WHERE user_id = '\(ann.userID)'"
                )
                #expect(left == "1")
            }
        }
    }

    @Test func aLoginBesideAnUnlinkIsBeforeItOrRefused() async throws {
        try await withProviderService { providers in
            for round in 0..<min(20, seededCases(5)) {
                let name = "user-\(round)"
                let ann = try await providers.logIn(name)
                try await providers.link(name, with: ann, of: "second")
                let token = try await providers.token(name)
                async let login: Void = {
                    do {
                        _ = try await providers.logIn(by: token)
                    } catch let error as SkyrowError where error.code == .invalidCredentials {
                        // It was unlinked by then.
                    }
                }()
                try await providers.unlink("test", from: ann)
                try await login
                // Neither is the account lost nor is there a second one, unless the login came after all of the unlink.
                let accounts = try await providers.fixture.psql(
                    "SELECT count(DISTINCT user_id) FROM _identity WHERE subject = '\(name)'"
                )
                #expect(accounts == "1" || accounts == "2")
                let mine = try await providers.fixture.psql(
                    "SELECT string_agg(provider, ',') FROM _identity WHERE user_id = '\(ann.userID)'"
                )
                #expect(mine == "second")
            }
        }
    }

    @Test func aSessionThatHasEndedLinksNothing() async throws {
        try await withProviderService { providers in
            let ann = try await providers.logIn("ann")
            let (caller, credentials) = try await providers.caller(ann)
            // Its caller was settled before the tokens were revoked, as that of a request under way.
            try await providers.fixture.psql("UPDATE _user SET epoch = epoch + 1 WHERE id = '\(ann.userID)'")
            let token = try await providers.token("thief", of: "second")
            try await expectError(.accessTokenNotAccepted) {
                try await providers.service.run(Actions.authProviderLink, token, by: caller, with: credentials)
            }
            try await expectError(.accessTokenNotAccepted) {
                try await providers.service.run(Actions.authProviderUnlink, "test", by: caller, with: credentials)
            }
            #expect(try await providers.fixture.psql("SELECT provider FROM _identity") == "test")
        }
    }

    @Test func toLinkTakesAProofThatAProviderCanGive() async throws {
        try await withProviderService { providers in
            _ = try await providers.logIn("ann")
            let later = try await providers.logIn("ann")
            let error = try await expectError(.stepUpRequired) {
                try await providers.link("ann", with: later, of: "second")
            }
            #expect(error?.info["methods"] == .list([.string("provider")]))
            // The token was not judged, so it is not used.
            #expect(try await providers.fixture.psql("SELECT count(*) FROM _used_token") == "2")
            func stepUp(_ token: ProviderToken) async throws {
                let (caller, credentials) = try await providers.caller(later)
                _ = try await providers.service.run(Actions.authStepUp, .token(token), by: caller, with: credentials)
            }
            // One of a sign-in long ago, and those of another user and of one without an account.
            let now = Int(providers.fixture.clock.clock.now().secondsSince1970)
            let old = try await providers.provider.token(providers.claims("ann", nonce: "old", ["iat": "\(now - 661)"]))
            try await expectError(.invalidCredentials) {
                try await stepUp(ProviderToken(provider: "test", idToken: old, nonce: "old"))
            }
            // Nor does a new token of a sign-in long ago count, or one that does not say when that was.
            for (number, signedIn) in ["\(now - 2_592_000)", "\(now - 661)", "\(now + 61)", nil].enumerated() {
                let nonce = "signed-in-\(number)"
                let stale = try await providers.provider.token(
                    providers.claims("ann", nonce: nonce, ["auth_time": signedIn])
                )
                try await expectError(.invalidCredentials) {
                    try await stepUp(ProviderToken(provider: "test", idToken: stale, nonce: nonce))
                }
            }
            _ = try await providers.logIn("bob")
            for other in ["bob", "unknown"] {
                try await expectError(.invalidCredentials) { try await stepUp(try await providers.token(other)) }
            }
            try await expectError(.stepUpRequired) { try await providers.link("ann", with: later, of: "second") }
            try await stepUp(try await providers.token("ann"))
            try await providers.link("ann", with: later, of: "second")
        }
    }

    @Test func anAnonymousAccountOfLongAgoIsLinkedWithoutAProof() async throws {
        try await withProviderService { providers in
            let anonymous = try await providers.service.signUp(SignUpRequest())
            try await providers.fixture.psql("UPDATE _session SET elevated_until = now() - interval '1 day'")
            providers.service.forget(.all)
            try await providers.link("ann", with: anonymous)
            // It is registered now.
            try await expectError(.stepUpRequired) { try await providers.link("ann", with: anonymous, of: "second") }
        }
    }

    @Test func theMasterKeyLinksForAUser() async throws {
        try await withProviderService { providers in
            let ann = try await providers.logIn("ann")
            let master = Caller(kind: .master(actingAs: ann.userID))
            try await providers.service.run(
                Actions.authProviderLink,
                try await providers.token("ann", of: "second"),
                by: master,
                with: ServiceFixture.master
            )
            try await providers.service.run(Actions.authProviderUnlink, "test", by: master, with: ServiceFixture.master)
            try await expectError(.resourceNotFound) {
                try await providers.service.run(
                    Actions.authProviderLink,
                    try await providers.token("none", of: "second"),
                    by: Caller(kind: .master(actingAs: "none")),
                    with: ServiceFixture.master
                )
            }
        }
    }

    @Test func aPasswordByAnUnprovenAddressEndsOtherWaysIn() async throws {
        for wasProven in [false, true] {
            try await withMailingService { mailing in
                let ann = try await mailing.signUp("ann")
                try await mailing.fixture.psql(
                    """
                    INSERT INTO _identity (provider, subject, user_id) VALUES ('test', 'ann', '\(ann.userID)');
                    UPDATE _user SET verified_email = \(wasProven ? "'ann@example.org'" : "NULL") WHERE id = '\(ann.userID)'
                    """
                )
                _ = try await mailing.service.run(Actions.authResetRequest, CodeRequest(email: "ann@example.org"))
                let mail = try await mailing.lastMail()
                _ = try await mailing.service.run(
                    Actions.authResetConfirm,
                    ResetConfirmation(code: CodeConfirmation(code: mail.linkCode), password: "another secret")
                )
                let left = try await mailing.fixture.psql("SELECT count(*) FROM _identity")
                #expect(left == (wasProven ? "1" : "0"))
                let recorded = try await mailing.fixture.psql(
                    "SELECT data ->> 'provider' FROM _audit WHERE event = 'provider.unlink'"
                )
                #expect(recorded == (wasProven ? "" : "test"))
            }
        }
    }
}
