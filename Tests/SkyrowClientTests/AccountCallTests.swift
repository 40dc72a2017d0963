import SkyrowModel
import SkyrowProtocol
import Testing

@testable import SkyrowClient
@testable import SkyrowJSON

/// Calls of accounts, sessions and codes against the request that each sends and the answer that it reads.
@Suite struct AccountCallTests {
    private static let account = #"""
        {"user_id":"u1","profile":{"_id":"user/u1","_type":"record","_access":null,"username":"ann"},"roles":["writer"],\#
        "access_token":"t2","last_login_at":"2000-01-01T00:00:00Z"}
        """#

    @Test func signUpLogsIn() async throws {
        let scripted = ScriptedClient([.result(Self.account)])
        let account = try await scripted.client.signUp(
            ["username": "ann"],
            password: "pw",
            profile: ["age": 33, "a": true]
        )
        #expect(
            scripted.parameters()
                == #"auth:signup {"auth_data":{"username":"ann"},"password":"pw","profile":{"a":true,"age":33}}"#
        )
        #expect(account.profile["username"] == "ann")
        #expect(account.roles == ["writer"])
        #expect(account.lastLoginAt == Timestamp(microseconds: 0))
        #expect(account.lastSeenAt == nil)
        #expect(scripted.client.session == Session(userID: "u1", accessToken: "t2"))
        #expect(scripted.client.currentUserID == "u1")
    }

    @Test func anAccountSaysWhatItIs() async throws {
        let result = #"""
            {"user_id":"u1","profile":{"_id":"user/u1","_groups":["golf"],"_roles":["crew","staff"],"_verified":true},
            "roles":["crew"],"access_token":"t2"}
            """#
        // An older service says nothing of it.
        let scripted = ScriptedClient([.result(result), .result(Self.account)])
        let account = try await scripted.client.me()
        #expect(account.roles == ["crew"] && account.heldRoles == ["crew", "staff"])
        #expect(account.groups == ["golf"] && account.isVerified)
        let old = try await scripted.client.me()
        #expect(old.roles == ["writer"] && old.heldRoles.isEmpty && old.groups.isEmpty && !old.isVerified)
    }

    @Test func aProfileWithABadNameIsRefusedHere() async {
        let scripted = ScriptedClient([])
        let error = await #expect(throws: ClientError.self) {
            try await scripted.client.signUp(["username": "ann"], password: "pw", profile: ["_id": 1])
        }
        #expect(error?.serverCode == .invalidArgument)
        #expect(scripted.transport.requests.isEmpty)
    }

    @Test func everyWayToLogInKeepsItsToken() async throws {
        let scripted = ScriptedClient(Array(repeating: .result(Self.account), count: 4))
        try await scripted.client.signUpAnonymously()
        try await scripted.client.logIn(["email": "a@b.c"], password: "pw")
        try await scripted.client.changePassword(from: "a", to: "b")
        _ = try await scripted.client.me()
        #expect(
            (0..<4).map { scripted.parameters($0) } == [
                "auth:signup {}", #"auth:login {"auth_data":{"email":"a@b.c"},"password":"pw"}"#,
                #"auth:password {"old_password":"a","password":"b"}"#, "me -",
            ]
        )
        #expect(scripted.client.session?.accessToken == "t2")
    }

    @Test func sessionsAreListedAndEnded() async throws {
        let ann = Session(userID: "u1", accessToken: "t1")
        let list =
            #"[{"id":"s1","created_at":"2000-01-01T00:00:00Z","last_used_at":"2000-01-01T00:00:00Z","current":true}]"#
        let scripted = ScriptedClient(
            [
                .result(list), .result(#"{"revoked":1}"#), .result(#"{"revoked":2}"#), .result(Self.account),
                .result(Self.account), .result(#"{"revoked":3}"#),
            ],
            session: ann
        )
        let sessions = try await scripted.client.sessions()
        #expect(sessions.map(\.id) == ["s1"] && sessions.allSatisfy { $0.isCurrent })
        #expect(try await scripted.client.revokeSessions(["s2"]) == 1)
        #expect(try await scripted.client.revokeOtherSessions() == 2)
        #expect(scripted.client.session == ann)
        try await scripted.client.rotateToken()
        #expect(scripted.client.session?.accessToken == "t2")
        try await scripted.client.become(token: "t9")
        #expect(try await scripted.client.revokeAllSessions() == 3)
        #expect(scripted.client.session == nil)
        #expect(
            (0..<6).map { scripted.parameters($0) } == [
                "session:list -", #"session:revoke {"ids":["s2"]}"#,
                #"session:revoke {"all":true,"except_current":true}"#, "auth:rotate -", #"auth:become {"token":"t9"}"#,
                #"session:revoke {"all":true}"#,
            ]
        )
    }

    @Test func aProofSaysUntilWhenItCounts() async throws {
        let ann = Session(userID: "u1", accessToken: "t1")
        let scripted = ScriptedClient([.result(#"{"elevated_until":"2000-01-01T00:10:00Z"}"#)], session: ann)
        let end = try await scripted.client.stepUp(password: "pw")
        #expect(end == (try Timestamp(rfc3339: "2000-01-01T00:10:00Z")))
        #expect(scripted.parameters(0) == #"auth:stepup {"password":"pw"}"#)
        #expect(scripted.client.session == ann)
    }

    @Test func aSecondFactorIsAskedForAndGiven() async throws {
        let required = SkyrowError.secondFactorRequired(handle: "f_1", factors: [.totp, .recovery])
        let error = ClientError.refused(required).secondFactor
        #expect(error == SecondFactorRequest(handle: "f_1", factors: [.totp, .recovery]))
        let scripted = ScriptedClient([
            .result(Self.account), .result(#"{"secret":"MY","uri":"otpauth://x"}"#),
            .result(#"{"recovery_codes":["a","b"]}"#),
            .result(#"[{"kind":"recovery","confirmed_at":"2000-01-01T00:00:00Z","left":9}]"#),
            .result(#"{"status":"OK"}"#), .result(#"{"elevated_until":"2000-01-01T00:10:00Z"}"#),
        ])
        try await scripted.client.logIn(SecondFactorRequest(handle: "f_1", factors: []), code: "1")
        #expect(scripted.client.session?.accessToken == "t2")
        #expect(try await scripted.client.enrolTOTP().secret == "MY")
        #expect(try await scripted.client.confirmTOTP(code: "2") == ["a", "b"])
        #expect(try await scripted.client.factors().map(\.left) == [9])
        try await scripted.client.removeTOTP()
        try await scripted.client.stepUp(code: "3")
        #expect(
            (0..<6).map { scripted.parameters($0) } == [
                #"auth:login:factor {"handle":"f_1","code":"1"}"#, "auth:totp:enrol -",
                #"auth:totp:confirm {"code":"2"}"#, "auth:factor:list -", "auth:totp:remove -",
                #"auth:stepup {"code":"3"}"#,
            ]
        )
    }

    /// It says nothing about the session that the client has.
    @Test func aTokenThatIsNotAcceptedLeavesTheOwnSession() async throws {
        let ann = Session(userID: "u1", accessToken: "t1")
        let scripted = ScriptedClient([.error(104, "AccessTokenNotAccepted")], session: ann)
        await #expect(throws: ClientError.self) { try await scripted.client.become(token: "t9") }
        #expect(scripted.client.session == ann)
    }

    @Test func aTokenThatAResponseBringsIsUsedFromThenOn() async throws {
        let scripted = ScriptedClient(
            [.renewing(#"{"revoked":0}"#, token: "t2"), .result(#"{"revoked":0}"#)],
            session: Session(userID: "u1", accessToken: "t1")
        )
        for _ in 0..<2 { _ = try await scripted.client.revokeOtherSessions() }
        #expect(scripted.client.session == Session(userID: "u1", accessToken: "t2"))
        let sent = scripted.transport.requests.compactMap { request in
            request.headers.first { $0.name == "Authorization" }?.value
        }
        #expect(sent == ["Bearer t1", "Bearer t2"])
    }

    @Test func logOutForgetsTheSessionEvenWithoutAnAnswer() async throws {
        let ann = Session(userID: "u1", accessToken: "t1")
        let heard = ScriptedClient([.result(#"{"status":"OK"}"#)], session: ann)
        try await heard.client.logOut()
        #expect(heard.parameters() == "auth:logout -")
        #expect(heard.client.session == nil)
        let unheard = ScriptedClient([.lost], session: ann, retryPolicy: .never)
        await #expect(throws: ClientError.self) { try await unheard.client.logOut() }
        #expect(unheard.client.session == nil)
        let ended = ScriptedClient([.error(104, "AccessTokenNotAccepted")], session: ann)
        try await ended.client.logOut()
        #expect(ended.client.session == nil)
        let nobody = ScriptedClient([])
        try await nobody.client.logOut()
        #expect(nobody.transport.requests.isEmpty)
    }

    @Test func accountsAreDisabledAndEnabled() async throws {
        let ok = #"{"status":"OK"}"#
        let scripted = ScriptedClient([.result(ok), .result(ok), .result(ok)])
        try await scripted.client.disableAccount("u1")
        try await scripted.client.disableAccount("u1", message: "Be nice.", until: Timestamp(microseconds: 0))
        try await scripted.client.enableAccount("u1")
        #expect(
            (0..<3).map { scripted.parameters($0) } == [
                #"auth:disable:set {"auth_id":"u1","disabled":true}"#,
                #"auth:disable:set {"auth_id":"u1","disabled":true,"message":"Be nice.","expiry":"2000-01-01T00:00:00Z"}"#,
                #"auth:disable:set {"auth_id":"u1","disabled":false}"#,
            ]
        )
    }

    @Test func accountsAreRegisteredAndDeleted() async throws {
        let deletion = #"{"finished":true,"deleted":3,"anonymised":2,"transferred":1,"kept":0}"#
        let account = #"{"user_id":"u1","access_token":"t2","profile":{"_id":"user/u1"}}"#
        let scripted = ScriptedClient([.result(account), .result(deletion), .result(deletion)])
        try await scripted.client.register(["username": "ann"], password: "secret", profile: ["age": 33])
        #expect(scripted.client.session?.accessToken == "t2")
        let deleted = try await scripted.client.deleteAccount()
        #expect(deleted == AccountDeletion(isFinished: true, deleted: 3, anonymised: 2, transferred: 1, kept: 0))
        #expect(scripted.client.session == nil)
        try await scripted.client.deleteUser("u2", releasing: true)
        #expect(
            (0..<3).map { scripted.parameters($0) } == [
                #"auth:register {"auth_data":{"username":"ann"},"password":"secret","profile":{"age":33}}"#,
                "auth:delete -",
                #"user:delete {"user_id":"u2","release":true}"#,
            ]
        )
    }

    @Test func codesAreAskedForAndSent() async throws {
        let ticket = #"{"handle":"c_1","expires_at":"2000-01-01T00:00:00Z"}"#
        let scripted = ScriptedClient([
            .result(ticket), .result(ticket), .result(ticket), .result(#"{"status":"OK"}"#),
            .result(Self.account), .result(Self.account), .result(Self.account),
        ])
        let client = scripted.client
        let handle = try await client.requestPasswordReset(of: "a@b.c", language: "de")
        #expect(handle == CodeHandle(handle: "c_1", expiresAt: Timestamp(microseconds: 0)))
        _ = try await client.requestVerification(of: "a@b.c")
        _ = try await client.requestVerification()
        try await client.verifyAddress(code: "012345", handle: handle)
        #expect(client.session == nil)
        try await client.resetPassword(to: "pw", code: "012345", handle: handle)
        #expect(client.session?.accessToken == "t2")
        try await client.resetPassword(to: "pw", code: "link")
        try await client.setPassword(of: "u1", to: "pw")
        #expect(
            (0..<7).map { scripted.parameters($0) } == [
                #"auth:reset:request {"email":"a@b.c","language":"de"}"#, #"auth:verify:request {"email":"a@b.c"}"#,
                "auth:verify:request {}", #"auth:verify:confirm {"code":"012345","handle":"c_1"}"#,
                #"auth:reset:confirm {"code":"012345","password":"pw","handle":"c_1"}"#,
                #"auth:reset:confirm {"code":"link","password":"pw"}"#,
                #"auth:reset_password {"auth_id":"u1","password":"pw"}"#,
            ]
        )
    }

    @Test func aTicketIsAskedForAndRead() async throws {
        let scripted = ScriptedClient([
            .result(#"{"token":"l_1","expires_at":"2000-01-01T00:00:00Z"}"#), .result(#"{"token":"l_1"}"#),
        ])
        let ticket = try await scripted.client.liveTicket()
        #expect(ticket == LiveTicket(token: "l_1", expiresAt: Timestamp(microseconds: 0)))
        #expect(scripted.parameters() == "live:ticket -")
        let error = await #expect(throws: ClientError.self) { try await scripted.client.liveTicket() }
        #expect(error?.code == .invalidResponse)
    }

    @Test func addressesAreChangedAndLogInByMail() async throws {
        let ticket = #"{"handle":"c_1","expires_at":"2000-01-01T00:00:00Z"}"#
        let ok = #"{"status":"OK"}"#
        let merge = #"{"finished":true,"records":2,"renamed":[{"from":"note/1","to":"note/1~1","cleared":["slug"]}]}"#
        let scripted = ScriptedClient([
            .result(ticket), .result(ticket), .result(ok), .result(ok), .result(ticket),
            .result(Self.account), .result(merge),
        ])
        let client = scripted.client
        let handle = try await client.requestAddressChange(to: "a@b.c", password: "pw", language: "de")
        _ = try await client.requestAddressChange(to: "a@b.c")
        try await client.confirmAddressChange(code: "012345", handle: handle)
        try await client.undoAddressChange(code: "link")
        let code = try await client.requestLogInCode(of: "a@b.c", language: "de")
        try await client.logIn(code: "012345", handle: code, device: SessionDevice(id: "d1"))
        #expect(client.session?.accessToken == "t2")
        let merged = try await client.merge(tokenOfAnonymousAccount: "t9")
        let change = AccountMerge.Change(
            from: try RecordID("note/1"),
            to: try RecordID("note/1~1"),
            clearedFields: ["slug"]
        )
        #expect(merged == AccountMerge(isFinished: true, records: 2, changes: [change]))
        #expect(
            (0..<7).map { scripted.parameters($0) } == [
                #"auth:email:change {"email":"a@b.c","password":"pw","language":"de"}"#,
                #"auth:email:change {"email":"a@b.c"}"#, #"auth:email:confirm {"code":"012345","handle":"c_1"}"#,
                #"auth:email:undo {"code":"link"}"#, #"auth:link:request {"email":"a@b.c","language":"de"}"#,
                #"auth:link:login {"code":"012345","handle":"c_1","device_id":"d1"}"#, #"auth:merge {"token":"t9"}"#,
            ]
        )
    }

    @Test func tokensOfProvidersAreSent() async throws {
        let new = String(Self.account.dropLast()) + #","is_new":true}"#
        let identity =
            #"{"provider":"google","subject":"1","profile":{"name":"Ann"},"created_at":"2000-01-01T00:00:00Z"}"#
        let scripted = ScriptedClient([
            .result(new), .result(Self.account), .result(#"{"status":"OK"}"#), .result(#"{"status":"OK"}"#),
            .result("[\(identity)]"),
        ])
        let client = scripted.client
        let account = try await client.logIn(provider: "google", idToken: "a.b.c", nonce: "n", accessToken: "at")
        #expect(account.isNew && client.session?.accessToken == "t2")
        let device = SessionDevice(id: "d1")
        let known = try await client.logIn(customToken: "d.e.f", device: device)
        #expect(!known.isNew)
        try await client.linkProvider("google", idToken: "a.b.c", nonce: "n")
        try await client.unlinkProvider("google")
        let identities = try await client.identities()
        #expect(identities.map(\.provider) == ["google"] && identities[0].lastUsedAt == nil)
        #expect(String(decoding: identities[0].profile.utf8, as: UTF8.self) == #"{"name":"Ann"}"#)
        #expect(
            (0..<5).map { scripted.parameters($0) } == [
                #"auth:provider:login {"provider":"google","id_token":"a.b.c","nonce":"n","provider_access_token":"at"}"#,
                #"sso:custom_token:login {"token":"d.e.f","device_id":"d1"}"#,
                #"auth:provider:link {"provider":"google","id_token":"a.b.c","nonce":"n"}"#,
                #"auth:provider:unlink {"provider":"google"}"#, "auth:provider:list -",
            ]
        )
    }

    @Test func signInsByWayOfTheBrowserAreSent() async throws {
        let start = #"{"url":"https://id.example.org/authorize?x=y","expires_at":"2000-01-01T00:00:00Z"}"#
        let tokens =
            #"{"provider":"google","subject":"1","token":{"access_token":"at"},"received_at":"2000-01-01T00:00:00Z"}"#
        let scripted = ScriptedClient([
            .result(start), .result(start), .result(Self.account), .result(tokens), .result("{}"),
        ])
        let client = scripted.client
        let begun = try await client.startProvider("google", redirect: "org.example.app:/in", codeChallenge: "c")
        #expect(begun.url == "https://id.example.org/authorize?x=y")
        _ = try await client.startProvider(
            "google",
            redirect: "org.example.app:/in",
            codeChallenge: "c",
            state: "s",
            links: true
        )
        try await client.finishProvider(code: "c1", codeVerifier: "v", device: SessionDevice(id: "d1"))
        #expect(client.session?.accessToken == "t2")
        let held = try await client.tokens(of: "google")
        #expect(held.subject == "1" && String(decoding: held.response.utf8, as: UTF8.self) == #"{"access_token":"at"}"#)
        await #expect(throws: ClientError.self) { try await client.tokens(of: "google") }
        #expect(
            (0..<4).map { scripted.parameters($0) } == [
                #"auth:provider:start {"provider":"google","redirect":"org.example.app:/in","code_challenge":"c"}"#,
                #"auth:provider:start {"provider":"google","redirect":"org.example.app:/in","code_challenge":"c","state":"s","link":true}"#,
                #"auth:provider:finish {"code":"c1","code_verifier":"v","device_id":"d1"}"#,
                #"auth:provider:token {"provider":"google"}"#,
            ]
        )
    }
}
