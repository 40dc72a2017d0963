import Foundation
import SkyrowModel
import SkyrowWire
import Testing

@testable import SkyrowClient
@testable import SkyrowJSON

/// Every call against the request it sends and the answer of the protocol that it reads.
@Suite struct ActionCallTests {
    private static let account = #"""
        {"user_id":"u1","profile":{"_id":"user/u1","_type":"record","_access":null,"username":"ann"},"roles":["writer"],\#
        "access_token":"t2","last_login_at":"2000-01-01T00:00:00Z"}
        """#

    private func parameters(_ scripted: ScriptedClient, _ index: Int = 0) -> String {
        let body = scripted.transport.requests[index].body
        return
            (try? JSONDocument(body).withRoot { root in
                "\(root["method"]?.string ?? "") \(root["params"].map { String(decoding: $0.source, as: UTF8.self) } ?? "-")"
            }) ?? ""
    }

    @Test func signUpLogsIn() async throws {
        let scripted = ScriptedClient([.result(ActionCallTests.account)])
        let account = try await scripted.client.signUp(
            ["username": "ann"],
            password: "pw",
            profile: ["age": 33, "a": true]
        )
        #expect(
            parameters(scripted)
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
        let scripted = ScriptedClient([.result(result), .result(ActionCallTests.account)])
        let account = try await scripted.client.me()
        #expect(account.roles == ["crew"] && account.heldRoles == ["crew", "staff"])
        #expect(account.groups == ["golf"] && account.isVerified)
        let old = try await scripted.client.me()
        #expect(old.roles == ["writer"] && old.heldRoles.isEmpty && old.groups.isEmpty && !old.isVerified)
    }

    @Test func rolesAreReadAsRecords() async throws {
        let role = #"{"_id":"_role/a/b","_type":"record","_access":null,"name":"a/b","is_admin":true}"#
        let scripted = ScriptedClient([.result(#"{"records":[\#(role)],"info":{}}"#), .result("[\(role)]")])
        let database = scripted.client.publicDatabase
        let found = try await database.query(try RecordQuery("_role"))
        let id = try RecordID(type: .role, id: "a/b")
        #expect(found.records.map(\.id) == [id] && found.records.first?["is_admin"] == true)
        let fetched = try await database.fetch([id])
        #expect(try fetched.first?.get().id == id)
        #expect(parameters(scripted).contains(#""record_type":"_role""#))
        #expect(parameters(scripted, 1).contains(#""ids":["_role/a/b"]"#))
        // A record that is saved is none.
        #expect(throws: SkyrowError.self) { try RecordID("_role/a/b") }
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
        let scripted = ScriptedClient(Array(repeating: .result(ActionCallTests.account), count: 4))
        try await scripted.client.signUpAnonymously()
        try await scripted.client.logIn(["email": "a@b.c"], password: "pw")
        try await scripted.client.changePassword(from: "a", to: "b")
        _ = try await scripted.client.me()
        #expect(
            (0..<4).map { parameters(scripted, $0) } == [
                "auth:signup -", #"auth:login {"auth_data":{"email":"a@b.c"},"password":"pw"}"#,
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
                .result(list), .result(#"{"revoked":1}"#), .result(#"{"revoked":2}"#), .result(ActionCallTests.account),
                .result(ActionCallTests.account), .result(#"{"revoked":3}"#),
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
            (0..<6).map { parameters(scripted, $0) } == [
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
        #expect(parameters(scripted, 0) == #"auth:stepup {"password":"pw"}"#)
        #expect(scripted.client.session == ann)
    }

    @Test func aSecondFactorIsAskedForAndGiven() async throws {
        let required = SkyrowError.secondFactorRequired(handle: "f_1", factors: [.totp, .recovery])
        let error = ClientError.refused(required).secondFactor
        #expect(error == SecondFactorRequest(handle: "f_1", factors: [.totp, .recovery]))
        let scripted = ScriptedClient([
            .result(ActionCallTests.account), .result(#"{"secret":"MY","uri":"otpauth://x"}"#),
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
            (0..<6).map { parameters(scripted, $0) } == [
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
        #expect(parameters(heard) == "auth:logout -")
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

    @Test func savesAnswerWhatBecameOfEach() async throws {
        let scripted = ScriptedClient([
            .result(
                #"""
                [{"_id":"note/1","_type":"record","_access":null,"title":"Milk","_revision":7},
                 {"_id":"note/2","_type":"error","name":"PermissionDenied","code":102,"message":"No."}]
                """#
            )
        ])
        let drafts = [
            try RecordDraft("note/1", ["title": "Milk"]), try RecordDraft("note/2", [:], precondition: .isNew),
        ]
        let results = try await scripted.client.privateDatabase.save(drafts, atomically: true)
        #expect(try results[0].get()["title"] == "Milk")
        #expect(try results[0].get().revision == 7)
        #expect(throws: SkyrowError(.permissionDenied, "No.")) { try results[1].get() }
        let sent = parameters(scripted)
        #expect(
            sent.hasPrefix(
                #"record:save {"database_id":"_private","records":[{"_id":"note/1","title":"Milk"},{"_id":"note/2","_if_revision":"new"}],"atomic":true,"idempotency_key":""#
            )
        )
    }

    @Test func oneRecordIsSavedFetchedAndDeletedByItself() async throws {
        let entry = #"[{"_id":"note/1","_type":"record","_access":null}]"#
        let missing = #"[{"_id":"note/1","_type":"error","name":"ResourceNotFound","code":110,"message":"No."}]"#
        let scripted = ScriptedClient([
            .result(entry), .result(entry), .result(entry), .result(missing), .result(missing),
        ])
        let database = scripted.client.publicDatabase
        let id = try RecordID("note/1")
        #expect(try await database.save(RecordDraft("note/1", [:])).id == id)
        #expect(try await database.fetch(id).id == id)
        try await database.delete(id)
        let error = await #expect(throws: ClientError.self) { try await database.fetch(id) }
        #expect(error?.serverCode == .resourceNotFound)
        await #expect(throws: ClientError.self) { try await database.delete(id) }
        #expect(parameters(scripted, 1) == #"record:fetch {"database_id":"_public","ids":["note/1"]}"#)
        #expect(
            parameters(scripted, 2).hasPrefix(
                #"record:delete {"database_id":"_public","ids":["note/1"],"idempotency_key":""#
            )
        )
    }

    @Test func anAnswerWithAnotherNumberOfEntriesIsNone() async throws {
        let scripted = ScriptedClient([.result("[]")])
        let error = await #expect(throws: ClientError.self) {
            try await scripted.client.publicDatabase.fetch([RecordID("note/1")])
        }
        #expect(error?.code == .invalidResponse)
    }

    @Test func nothingIsSentForNothing() async throws {
        let scripted = ScriptedClient([])
        let database = scripted.client.publicDatabase
        #expect(try await database.save([]).isEmpty)
        #expect(try await database.fetch([]).isEmpty)
        #expect(try await database.delete([]).isEmpty)
        #expect(scripted.transport.requests.isEmpty)
    }

    @Test func anAtomicFailureHasTheErrorsByRecord() async throws {
        let info = #"{"note/2":{"name":"PermissionDenied","code":102,"message":"No."}}"#
        let scripted = ScriptedClient([.error(115, "AtomicOperationFailure", info: info)])
        let error = await #expect(throws: ClientError.self) {
            try await scripted.client.publicDatabase.save([RecordDraft("note/2", [:])], atomically: true)
        }
        #expect(error?.serverError?.info == ["note/2": .error(SkyrowError(.permissionDenied, "No."))])
    }

    @Test func aConflictBringsTheStoredRecord() async throws {
        let entry = #"""
            [{"_id":"note/1","_type":"error","name":"Conflict","code":130,"message":"No.","info":{"record":{"_id":"note/1","_type":"record","_access":null,"n":2}}}]
            """#
        let scripted = ScriptedClient([.result(entry)])
        let error = await #expect(throws: ClientError.self) {
            try await scripted.client.publicDatabase.save(RecordDraft("note/1", ["n": 1], precondition: .revision(1)))
        }
        guard case .record(let record) = error?.serverError?.info["record"] else {
            Issue.record("no record: \(String(describing: error))")
            return
        }
        #expect(record["n"]?.integerValue == 2)
    }

    @Test func queriesAnswerRecordsAndCount() async throws {
        let scripted = ScriptedClient([
            .result(#"{"records":[{"_id":"note/1","_type":"record","_access":null}],"info":{"count":12}}"#),
            .result(#"{"records":[]}"#),
        ])
        let query = try RecordQuery("note").filter(Field("stars") > 2).sorted(by: "_created_at", .descending)
            .including("category").selecting(["title"]).limited(to: 20, offset: 40).counted()
        let page = try await scripted.client.publicDatabase.query(query)
        #expect(page.records.map(\.id.description) == ["note/1"])
        #expect(page.count == 12)
        #expect(try await scripted.client.publicDatabase.query(RecordQuery("note")).count == nil)
        #expect(
            parameters(scripted) == #"""
                record:query {"database_id":"_public","record_type":"note","predicate":["gt",{"$type":"keypath","$val":"stars"},2],\#
                "sort":[[{"$type":"keypath","$val":"_created_at"},"desc"]],"include":{"category":{"$type":"keypath","$val":"category"}},\#
                "desired_keys":["title"],"limit":20,"offset":40,"count":true}
                """#
        )
    }

    @Test func rolesAreSentAndRead() async throws {
        let scripted = ScriptedClient([
            .result(#""OK""#), .result(#""OK""#), .result(#"{"u1":["a","b"],"u2":[]}"#), .result(#"["a"]"#),
            .result(#"["b"]"#),
        ])
        try await scripted.client.assignRoles(["a"], to: ["u1"])
        try await scripted.client.revokeRoles(["a"], from: ["u1"])
        #expect(try await scripted.client.roles(of: ["u1", "u2"]) == ["u1": ["a", "b"], "u2": []])
        #expect(try await scripted.client.setDefaultRoles(["a"]) == ["a"])
        #expect(try await scripted.client.setAdministratorRoles(["b"]) == ["b"])
        #expect(
            (0..<5).map { parameters(scripted, $0) } == [
                #"role:assign {"roles":["a"],"users":["u1"]}"#, #"role:revoke {"roles":["a"],"users":["u1"]}"#,
                #"role:get {"users":["u1","u2"]}"#, #"role:default {"roles":["a"]}"#, #"role:admin {"roles":["b"]}"#,
            ]
        )
    }

    @Test func rolesAndGroupsAreChangedAndListed() async throws {
        let role =
            #"{"name":"crew","access":[{"user_id":"u1","level":"update"}],"owner":"u1","by_default":false,"is_admin":false,"#
            + #""created_at":"2000-01-01T00:00:00Z","updated_at":"2000-01-01T00:00:00Z","revision":7}"#
        let scripted = ScriptedClient([
            .result(role), .result(#"{"status":"OK"}"#), .result(#"{"added":2}"#), .result(#"{"removed":1}"#),
            .result(#"{"members":[{"role":"staff"},{"user_id":"u1"}],"cursor":"user:u1"}"#),
            .result(#"{"roles":[\#(role)]}"#), .result(#"{"groups":["golf"]}"#), .result(#"{"groups":[]}"#),
            .result(#"{"groups":["golf"]}"#),
        ])
        let client = scripted.client
        let access = AccessList([AccessEntry(.user("u1"), .update)])
        let crew = Role(
            name: "crew",
            access: access,
            owner: "u1",
            createdAt: Timestamp(microseconds: 0),
            updatedAt: Timestamp(microseconds: 0),
            revision: 7
        )
        #expect(try await client.saveRole("crew", access: access) == crew)
        try await client.deleteRole("crew")
        #expect(try await client.add(users: ["u1"], roles: ["staff"], toRole: "crew") == 2)
        #expect(try await client.remove(users: ["u1"], fromRole: "crew") == 1)
        let members = try await client.members(ofRole: "crew", limit: 2)
        #expect(members == MemberPage([.role("staff"), .user("u1")], cursor: "user:u1"))
        #expect(try await client.roles(after: "a") == MemberPage([crew]))
        #expect(try await client.addGroups(["golf"]) == ["golf"])
        #expect(try await client.removeGroups(["golf"], from: "u2") == [])
        #expect(try await client.groups(of: "u2") == ["golf"])
        #expect(
            (0..<9).map { parameters(scripted, $0) } == [
                #"role:save {"name":"crew","access":[{"user_id":"u1","level":"update"}]}"#,
                #"role:delete {"name":"crew"}"#,
                #"role:add {"role":"crew","users":["u1"],"roles":["staff"]}"#,
                #"role:remove {"role":"crew","users":["u1"]}"#,
                #"role:members {"role":"crew","limit":2}"#, #"role:list {"limit":100,"after":"a"}"#,
                #"group:add {"groups":["golf"]}"#, #"group:remove {"groups":["golf"],"user_id":"u2"}"#,
                #"group:list {"user_id":"u2"}"#,
            ]
        )
    }

    @Test func relationsAreChangedAndListed() async throws {
        let user = #"{"id":"u2","type":"user","data":{"_id":"user/u2","_type":"record","_access":null},"mutual":true}"#
        let failure = #"{"id":"u3","type":"error","data":{"name":"ResourceNotFound","code":110,"message":"No."}}"#
        let scripted = ScriptedClient([
            .result("[\(user),\(failure)]"), .result(#"[{"id":"u2"}]"#),
            .result(#"{"users":[\#(user)],"info":{"count":7}}"#), .result(#"{"users":[],"info":{"count":0}}"#),
            .result(#"[{"id":"u2"},\#(failure)]"#), .result(#"[{"id":"u2"}]"#),
        ])
        let client = scripted.client
        let outcomes = try await client.addRelations(.friend, to: ["u2", "u3"])
        #expect(try outcomes[0].get().profile?.id == RecordID("user/u2"))
        #expect(outcomes[1] == .failure(SkyrowError(.resourceNotFound, "No.")))
        try await client.removeRelations(.follow, to: ["u2"])
        let friends = try await client.relations(.friend, limit: 1, offset: 6)
        #expect(friends.count == 7 && friends.users.map(\.id) == ["u2"] && friends.users[0].isMutual)
        #expect(try await client.relationRequests() == RelatedUsers(users: [], count: 0))
        #expect(try await client.block(["u2", "u3"]) == ["u2"])
        #expect(try await client.block(["u2"], false) == ["u2"])
        #expect(
            (0..<6).map { parameters(scripted, $0) } == [
                #"relation:add {"name":"friend","targets":["u2","u3"]}"#,
                #"relation:remove {"name":"follow","targets":["u2"]}"#,
                #"relation:query {"name":"friend","direction":"mutual","limit":1,"offset":6}"#,
                #"relation:requests {"limit":100}"#, #"relation:block {"targets":["u2","u3"]}"#,
                #"relation:block {"targets":["u2"],"blocked":false}"#,
            ]
        )
    }

    @Test func accountsAreDisabledAndEnabled() async throws {
        let ok = #"{"status":"OK"}"#
        let scripted = ScriptedClient([.result(ok), .result(ok), .result(ok)])
        try await scripted.client.disableAccount("u1")
        try await scripted.client.disableAccount("u1", message: "Be nice.", until: Timestamp(microseconds: 0))
        try await scripted.client.enableAccount("u1")
        #expect(
            (0..<3).map { parameters(scripted, $0) } == [
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
        #expect(
            deleted == AccountDeletion(isFinished: true, deleted: 3, anonymised: 2, transferred: 1, kept: 0)
        )
        #expect(scripted.client.session == nil)
        try await scripted.client.deleteUser("u2", releasing: true)
        #expect(
            (0..<3).map { parameters(scripted, $0) } == [
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
            .result(ActionCallTests.account), .result(ActionCallTests.account), .result(ActionCallTests.account),
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
            (0..<7).map { parameters(scripted, $0) } == [
                #"auth:reset:request {"email":"a@b.c","language":"de"}"#, #"auth:verify:request {"email":"a@b.c"}"#,
                "auth:verify:request {}", #"auth:verify:confirm {"code":"012345","handle":"c_1"}"#,
                #"auth:reset:confirm {"code":"012345","handle":"c_1","password":"pw"}"#,
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
        #expect(parameters(scripted) == "live:ticket -")
        let error = await #expect(throws: ClientError.self) { try await scripted.client.liveTicket() }
        #expect(error?.code == .invalidResponse)
    }

    @Test func addressesAreChangedAndLogInByMail() async throws {
        let ticket = #"{"handle":"c_1","expires_at":"2000-01-01T00:00:00Z"}"#
        let ok = #"{"status":"OK"}"#
        let merge = #"{"finished":true,"records":2,"renamed":[{"from":"note/1","to":"note/1~1","cleared":["slug"]}]}"#
        let scripted = ScriptedClient([
            .result(ticket), .result(ticket), .result(ok), .result(ok), .result(ticket),
            .result(ActionCallTests.account), .result(merge),
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
            (0..<7).map { parameters(scripted, $0) } == [
                #"auth:email:change {"email":"a@b.c","password":"pw","language":"de"}"#,
                #"auth:email:change {"email":"a@b.c"}"#, #"auth:email:confirm {"code":"012345","handle":"c_1"}"#,
                #"auth:email:undo {"code":"link"}"#, #"auth:link:request {"email":"a@b.c","language":"de"}"#,
                #"auth:link:login {"code":"012345","handle":"c_1","device_id":"d1"}"#, #"auth:merge {"token":"t9"}"#,
            ]
        )
    }

    @Test func keysAreMadeListedAndEnded() async throws {
        let key =
            #"{"id":"k7f3q9x2a","name":"ios","kind":"client","scopes":["read"],"networks":["10.0.0.0/8"],"created_at":"2000-01-01T00:00:00Z""#
        let issued = key + #","key":"sky_k7f3q9x2a_secret"}"#
        let scripted = ScriptedClient([
            .result(issued), .result(#"{"keys":[\#(key),"revoked_at":"2000-01-01T00:00:01Z"}]}"#), .result(issued),
            .result(#"{"status":"OK"}"#),
        ])
        let client = scripted.client
        let made = try await client.createKey("ios", scopes: ["read"], networks: ["10.0.0.0/8"])
        #expect(made.text == "sky_k7f3q9x2a_secret")
        #expect(made.key.kind == .client && made.key.scopes == ["read"] && made.key.networks == ["10.0.0.0/8"])
        #expect(!"\(made) \(String(reflecting: made))".contains("secret"))
        let listed = try await client.keys()
        #expect(listed.map(\.id) == ["k7f3q9x2a"])
        #expect(listed.first?.revokedAt == Timestamp(microseconds: 1_000_000))
        _ = try await client.rotateKey("k7f3q9x2a", overlap: .seconds(60))
        try await client.revokeKey("k7f3q9x2a")
        #expect(
            (0..<4).map { parameters(scripted, $0) } == [
                #"key:create {"name":"ios","kind":"client","scopes":["read"],"networks":["10.0.0.0/8"]}"#,
                "key:list -", #"key:rotate {"id":"k7f3q9x2a","overlap":60}"#, #"key:revoke {"id":"k7f3q9x2a"}"#,
            ]
        )
    }

    @Test func tokensOfProvidersAreSent() async throws {
        let new = String(ActionCallTests.account.dropLast()) + #","is_new":true}"#
        let identity =
            #"{"provider":"google","subject":"1","profile":{"name":"Ann"},"created_at":"2000-01-01T00:00:00Z"}"#
        let scripted = ScriptedClient([
            .result(new), .result(ActionCallTests.account), .result(#"{"status":"OK"}"#), .result(#"{"status":"OK"}"#),
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
            (0..<5).map { parameters(scripted, $0) } == [
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
            .result(start), .result(start), .result(ActionCallTests.account), .result(tokens), .result("{}"),
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
            (0..<4).map { parameters(scripted, $0) } == [
                #"auth:provider:start {"provider":"google","redirect":"org.example.app:/in","code_challenge":"c"}"#,
                #"auth:provider:start {"provider":"google","redirect":"org.example.app:/in","code_challenge":"c","state":"s","link":true}"#,
                #"auth:provider:finish {"code":"c1","code_verifier":"v","device_id":"d1"}"#,
                #"auth:provider:token {"provider":"google"}"#,
            ]
        )
    }

    @Test(arguments: [#"{}"#, #"{"key":"x"}"#, #"{"key":"x","id":"k1","name":"n","kind":"other"}"#])
    func aKeyThatLacksAMemberIsNone(result: String) async {
        let scripted = ScriptedClient([.result(result)])
        await #expect(throws: ClientError.self) { try await scripted.client.createKey("ios") }
    }

    @Test func schemasAreSentAndRead() async throws {
        let response = #"{"record_types":{"note":{"fields":[{"name":"stars","type":"integer"}]}}}"#
        let scripted = ScriptedClient(Array(repeating: .result(response), count: 4))
        let note = RecordType(name: try RecordTypeName("note"), fields: [try FieldName("stars"): .integer])
        #expect(try await scripted.client.schema().types == [note.name: note])
        try await scripted.client.createTypes([note])
        try await scripted.client.renameField(FieldName("a"), of: note.name, to: FieldName("b"))
        try await scripted.client.deleteField(FieldName("b"), of: note.name)
        #expect(
            (0..<4).map { parameters(scripted, $0) } == [
                "schema:fetch -", "schema:create \(response)",
                #"schema:rename {"record_type":"note","item_name":"a","new_name":"b"}"#,
                #"schema:delete {"record_type":"note","item_name":"b"}"#,
            ]
        )
    }

    @Test func indexesAreAskedFor() async throws {
        let response =
            #"{"name":"note_stars_idx","record_type":"note","fields":[["stars","desc"]],"kind":"order","state":"building"}"#
        let scripted = ScriptedClient([
            .result(response), .result(#"{"indexes":[\#(response)]}"#), .result(#"{"indexes":[]}"#), .result(response),
        ])
        let note = try RecordTypeName("note")
        let definition = IndexDefinition(of: note, [IndexField("stars", .descending)])
        let index = try await scripted.client.createIndex(definition)
        #expect(index == RecordIndex(name: "note_stars_idx", type: note, state: .building, definition: definition))
        #expect(try await scripted.client.indexes(of: note) == [index])
        #expect(try await scripted.client.indexes() == [])
        try await scripted.client.deleteIndex("note_stars_idx", forces: true)
        #expect(
            (0..<4).map { parameters(scripted, $0) } == [
                #"schema:index:create {"record_type":"note","fields":[["stars","desc"]],"kind":"order"}"#,
                #"schema:index:list {"record_type":"note"}"#, "schema:index:list {}",
                #"schema:index:delete {"name":"note_stars_idx","force":true}"#,
            ]
        )
    }

    @Test func rulesAreAskedForAndChanged() async throws {
        let response = #"""
            {"record_type":"note","rules":{"create":{"allow":[{"role":"writer"}]},
             "read":{"allow":[{"public":true}],"mode":"default"},
             "update":{"allow":[{"owner":true},{"field":"editors"}],"mode":"require"},
             "delete":{"allow":[],"mode":"override"}},
             "fields":{"score":{"read":[{"owner":true}],"update":[]}},
             "default_access":[{"role":"writer","level":"read"}],"list_by":"update","transfer_by":"owner",
             "private":false,"aggregate":false}
            """#
        let scripted = ScriptedClient([.result(response), .result(response)])
        let note = try RecordTypeName("note")
        var expected = ClassAccess()
        expected.rules = [
            .create: ClassRule([.role("writer")]),
            .update: ClassRule([.owner, .field(try FieldName("editors"))], .require),
            .delete: ClassRule([], .override),
        ]
        expected.fields = [try FieldName("score"): [.read: [.owner], .update: []]]
        expected.defaultAccess = AccessList([AccessEntry(.role("writer"), .read)])
        expected.listWriters = .update
        expected.transferrers = .owner
        expected.allowsPrivate = false
        expected.allowsAggregates = false
        #expect(try await scripted.client.classAccess(of: note) == expected)
        var change = ClassAccessChange(type: note)
        change.rules[.delete] = ClassRule([], .override)
        change.rules.updateValue(nil, forKey: .read)
        change.fields[try FieldName("score")] = [.read: .some([.owner]), .update: .some([])]
        change.defaultAccess = .some(nil)
        change.listWriters = .some(.update)
        change.transferrers = .owner
        change.allowsPrivate = false
        change.allowsAggregates = false
        #expect(try await scripted.client.changeClassAccess(change) == expected)
        #expect(
            (0..<2).map { parameters(scripted, $0) } == [
                #"schema:access:get {"record_type":"note"}"#,
                #"schema:access:set {"record_type":"note","rules":{"read":null,"delete":{"allow":[],"mode":"override"}},"#
                    + #""fields":{"score":{"read":[{"owner":true}],"update":[]}},"default_access":null,"list_by":"update","transfer_by":"owner","private":false,"aggregate":false}"#,
            ]
        )
    }

    @Test func recordsGetOtherOwnersAndLists() async throws {
        let scripted = ScriptedClient([
            .result(#"{"default_access":[{"users":true,"level":"read"}]}"#),
            .result(
                #"""
                [{"_id":"note/1","_type":"record","_access":null,"_ownerID":"u2"},
                 {"_id":"note/2","_type":"error","name":"ResourceNotFound","code":110,"message":"No."}]
                """#
            ),
        ])
        try await scripted.client.setDefaultAccess(AccessList([AccessEntry(.users, .read)]))
        let results = try await scripted.client.transfer([RecordID("note/1"), RecordID("note/2")], to: "u2")
        #expect(try results[0].get().owner == "u2")
        #expect(throws: SkyrowError(.resourceNotFound, "No.")) { try results[1].get() }
        #expect(try await scripted.client.transfer([], to: "u2").isEmpty)
        #expect(
            (0..<2).map { parameters(scripted, $0) } == [
                #"auth:default_access:set {"default_access":[{"users":true,"level":"read"}]}"#,
                #"record:transfer {"ids":["note/1","note/2"],"to":"u2"}"#,
            ]
        )
    }
}
