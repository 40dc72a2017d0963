import SkyrowModel
import SkyrowProtocol
import SkyrowStore
import SkyrowTestSupport
import Testing

@testable import SkyrowActions

/// What is kept about accounts.
@Suite(.timeLimit(.minutes(60))) struct AuditTests {
    private static let here = ClientKey(high: 1, low: 1)
    private static let origin = RequestOrigin(address: "192.0.2.7", userAgent: "Notes/1", requestID: "r1")
    private static let secrets = ["secret", "wrong guess", "another", "unknown@example.org"]

    private func events(_ fixture: ServiceFixture) async throws -> [String] {
        await fixture.service.storeAudit()
        return try await fixture.psql(
            """
            SELECT concat_ws(' ', event, outcome, replace(coalesce(user_id, '-'), (SELECT id FROM _user LIMIT 1), 'ann'),
                replace(coalesce(actor, '-'), (SELECT id FROM _user LIMIT 1), 'ann'),
                (session_id IS NOT NULL)::text, host(address), request_id, data ->> 'sessions') FROM _audit ORDER BY id
            """
        ).split(separator: "\n").map(String.init)
    }

    /// Who may do what leaves its trace with the change, and nothing leaves one that changes nothing.
    @Test func everyChangeOfRightsLeavesItsEvent() async throws {
        try await withService { fixture in
            let (service, origin) = (fixture.service, Self.origin)
            let master = ServiceFixture.masterCaller
            let (result, ann) = try await service.signUp("ann")
            let user = result.userID
            _ = try await service.save(SaveRequest(draft("note/1", ["title": "words"])), by: ann)
            try await fixture.psql("DELETE FROM _audit")
            let members = RoleAssignment(roles: ["reader", "writer"], users: [user, "nobody"])
            let change = RoleChange(role: "team", users: [user], roles: ["reader"])
            let groups = GroupChange(groups: ["golf"], user: user)
            var rule = ClassAccessChange(type: type("note"))
            rule.rules.updateValue(ClassRule([.role("reader")]), forKey: .read)
            rule.fields[field("title")] = [.read: [.owner]]
            let list = AccessList([AccessEntry(.role("reader"), .read)])
            // Twice each: what changes nothing leaves nothing, but for what is written as a whole.
            for _ in 0..<2 {
                _ = try await service.run(Actions.roleAdmin, ["Admin"], by: master, origin: origin)
                _ = try await service.run(Actions.roleDefault, ["reader"], by: master, origin: origin)
                try await service.run(Actions.roleAssign, members, by: master, origin: origin)
                _ = try await service.run(Actions.roleSave, RoleSave(name: "team"), by: master, origin: origin)
                _ = try await service.run(Actions.roleAdd, change, by: master, origin: origin)
                _ = try await service.run(Actions.groupAdd, groups, by: master, origin: origin)
            }
            for _ in 0..<2 {
                _ = try await service.run(Actions.roleRemove, change, by: master, origin: origin)
                try await service.run(Actions.roleRevoke, members, by: master, origin: origin)
                _ = try await service.run(Actions.groupRemove, groups, by: master, origin: origin)
            }
            try await service.run(Actions.roleDelete, "team", by: master, origin: origin)
            try await expectError(.resourceNotFound) { try await service.run(Actions.roleDelete, "team", by: master) }
            _ = try await service.run(Actions.schemaAccessSet, rule, by: master, origin: origin)
            _ = try await service.run(
                Actions.schemaDefaultAccess,
                TypeDefaultAccess(type: type("note"), access: list),
                by: master,
                origin: origin
            )
            _ = try await service.run(Actions.authDefaultAccessSet, list, by: ann, origin: origin)
            let ids = ["note/1", "note/2"].map { try! RecordID($0) }
            for transfer in [RecordTransfer(ids: ids, owner: user), RecordTransfer(ids: [ids[1]], owner: user)] {
                _ = try await service.run(Actions.recordTransfer, transfer, by: master, origin: origin)
            }

            let events = try await fixture.psql(
                """
                SELECT concat_ws(' ', event, outcome, CASE user_id WHEN '\(user)' THEN 'ann' ELSE '-' END,
                    replace(actor, '\(user)', 'ann'), host(address), request_id,
                    CASE event WHEN 'rule' THEN data ->> 'type' ELSE data::text END)
                FROM _audit ORDER BY id
                """
            ).split(separator: "\n").map(String.init)
            let from = "192.0.2.7 r1"
            #expect(
                events == [
                    "role.save ok - master \(from) {\"role\": \"reader\", \"by_default\": true}",
                    "role.add ok ann master \(from) {\"role\": \"reader\"}",
                    "role.add ok ann master \(from) {\"role\": \"writer\"}",
                    "role.save ok - master \(from) {\"role\": \"team\", \"is_admin\": false, \"by_default\": false}",
                    "role.add ok ann master \(from) {\"role\": \"team\"}",
                    "role.add ok - master \(from) {\"role\": \"team\", \"member\": \"reader\"}",
                    "group.add ok ann master \(from) {\"group\": \"golf\"}",
                    "role.save ok - master \(from) {\"role\": \"team\", \"is_admin\": false, \"by_default\": false}",
                    "role.remove ok ann master \(from) {\"role\": \"team\"}",
                    "role.remove ok - master \(from) {\"role\": \"team\", \"member\": \"reader\"}",
                    "role.remove ok ann master \(from) {\"role\": \"reader\"}",
                    "role.remove ok ann master \(from) {\"role\": \"writer\"}",
                    "group.remove ok ann master \(from) {\"group\": \"golf\"}",
                    "role.delete ok - master \(from) {\"role\": \"team\"}",
                    "rule ok - master \(from) note",
                    "rule ok - master \(from) note",
                    "rule ok ann user:ann \(from)",
                    "transfer ok ann master \(from) {\"ids\": [\"1\"], \"type\": \"note\"}",
                ]
            )
            let rules = try await fixture.psql(
                "SELECT data -> 'access' -> 'fields' -> 'title' -> 'read' ->> 0 FROM _audit WHERE event = 'rule' ORDER BY id LIMIT 1"
            )
            #expect(rules == "owner")
        }
    }

    @Test func everyChangeLeavesItsEvent() async throws {
        try await withService { fixture in
            let (service, origin) = (fixture.service, Self.origin)
            let first = try await service.signUp(
                SignUpRequest(authData: ["username": "ann"], password: "secret"),
                origin: origin
            )
            let own = Credentials.token(first.accessToken)
            let caller = try await service.authenticate(own, for: .user)
            let logIn = LogInRequest(authData: ["username": "ann"], password: "secret")
            let second = try await service.logIn(logIn, origin: origin)
            try await service.run(Actions.authLogOut, with: .token(second.accessToken), origin: origin)
            // A second logout ends nothing, and is none.
            try await service.run(Actions.authLogOut, with: .token(second.accessToken), origin: origin)
            _ = try await service.logIn(logIn, origin: origin)
            let all = SessionsToRevoke.all(exceptCurrent: true)
            for _ in 0..<2 {
                _ = try await service.run(Actions.sessionRevoke, all, by: caller, with: own, origin: origin)
            }
            let master = Credentials(key: "master", actingUserID: first.userID)
            _ = try await service.run(
                Actions.me,
                by: Caller(kind: .master(actingAs: first.userID)),
                with: master,
                origin: origin
            )
            let third = try await service.changePassword(
                ChangePasswordRequest(oldPassword: "secret", password: "another"),
                by: caller,
                with: own,
                origin: origin
            )
            _ = try await service.run(Actions.authRotate, by: caller, with: .token(third.accessToken))
            try await fixture.psql("UPDATE _session SET rotated_at = now() - interval '31 s'")
            service.forget(.all)
            try await expectError(.accessTokenNotAccepted) {
                try await service.authenticate(.token(third.accessToken), for: .user)
            }
            for isDisabled in [true, false] {
                try await service.run(
                    Actions.authDisableSet,
                    DisabledState(userID: first.userID, isDisabled: isDisabled),
                    by: ServiceFixture.masterCaller,
                    origin: origin
                )
            }
            let here = "192.0.2.7 r1"
            #expect(
                try await events(fixture) == [
                    "signup ok ann user:ann true \(here)", "login ok ann user:ann true \(here)",
                    "logout ok ann user:ann true \(here)", "login ok ann user:ann true \(here)",
                    "session ok ann user:ann false \(here) 1", "master ok ann master true \(here)",
                    "password ok ann user:ann true \(here)", "reuse ok ann - true",
                    "disable ok ann master false \(here)",
                    "enable ok ann master false \(here)",
                ]
            )
        }
    }

    @Test func aRefusalIsStoredWithoutWhatWasTried() async throws {
        try await withService { fixture in
            let (service, origin) = (fixture.service, Self.origin)
            let (_, caller) = try await service.signUp("ann")
            func tryLogIn(_ key: String, _ name: String, _ code: ErrorCode, _ password: String = "wrong guess")
                async throws
            {
                let request = LogInRequest(authData: [key: name], password: password)
                try await expectError(code) { try await service.logIn(request, from: Self.here, origin: origin) }
            }
            try await tryLogIn("username", "ann", .invalidCredentials)
            try await tryLogIn("email", "unknown@example.org", .invalidCredentials)
            try await tryLogIn("email", "UNKNOWN@example.org", .invalidCredentials)
            try await fixture.psql("UPDATE _throttle SET blocked_until = now() + interval '1 h'")
            try await tryLogIn("username", "ann", .rateLimited)
            try await fixture.psql("DELETE FROM _throttle; UPDATE _user SET disabled = true")
            try await tryLogIn("username", "ann", .userDisabled, "secret")
            try await expectError(.invalidCredentials) {
                try await service.changePassword(
                    ChangePasswordRequest(oldPassword: "wrong guess", password: "another"),
                    by: caller,
                    origin: origin
                )
            }
            let here = "192.0.2.7 r1"
            #expect(
                try await events(fixture) == [
                    "signup ok ann user:ann true", "login InvalidCredentials ann - false \(here)",
                    "login InvalidCredentials - - false \(here)", "login InvalidCredentials - - false \(here)",
                    "lockout RateLimited - - false \(here)", "login UserDisabled ann - false \(here)",
                    "password InvalidCredentials ann user:ann false \(here)",
                ]
            )
            // Tries at one account that there is not are recognised by their code.
            let codes = try await fixture.psql(
                "SELECT count(DISTINCT data ->> 'account') FROM _audit WHERE user_id IS NULL AND event = 'login'"
            )
            #expect(codes == "1")
            for secret in Self.secrets {
                let found = try await fixture.psql("SELECT count(*) FROM _audit AS a WHERE a::text ILIKE '%\(secret)%'")
                #expect(found == "0")
            }
        }
    }

    /// Who is not let in makes the service hold so much and no more.
    @Test func refusalsBeyondTheBoundAreCounted() async throws {
        var log = AuditLog()
        for _ in 0..<(AuditLog.capacity + 5) {
            log.note(AuditEvent(.logIn, refusal: .invalidCredentials, by: .unknown))
        }
        #expect(log.dropped == 5)
        #expect(log.take().count == AuditLog.capacity)
        #expect(log.take().isEmpty)
    }

    @Test func oneStatementStoresMany() async throws {
        try await withService { fixture in
            for number in 0..<2500 {
                let origin = RequestOrigin(address: "2001:db8::\(String(number, radix: 16))", requestID: "r\(number)")
                fixture.service.audit(AuditEvent(.logIn, refusal: .invalidCredentials, by: .unknown, from: origin))
            }
            await fixture.service.storeAudit()
            let stored = try await fixture.psql("SELECT count(*), count(DISTINCT address) FROM _audit")
            #expect(stored == "2500|2500")
            #expect(fixture.service.statistics.auditDropped == 0)
        }
    }

    /// No second passes, so only the end of the service stores them.
    @Test func refusalsAreStoredWhenTheServiceEnds() async throws {
        try await withService { fixture in
            let clock = ServiceClock(
                now: ServiceClock.system.now,
                instant: ServiceClock.system.instant,
                sleep: { _ in try await Task.sleep(for: .seconds(100_000)) }
            )
            let service = ActionService(
                store: fixture.service.store,
                configuration: fixture.service.configuration,
                clock: clock,
                logger: .quiet
            )
            service.audit(AuditEvent(.logIn, refusal: .invalidCredentials, by: .unknown, from: Self.origin))
            try await withRunning {
                try await service.run()
            } while: {
            }
            #expect(try await fixture.psql("SELECT event, address FROM _audit") == "login|192.0.2.7")
        }
    }

    @Test func whatCannotBeStoredIsCounted() async throws {
        try await withService { fixture in
            try await fixture.psql("ALTER TABLE _audit ADD CHECK (event <> 'login')")
            fixture.service.audit(AuditEvent(.logIn, refusal: .invalidCredentials, by: .unknown))
            await fixture.service.storeAudit()
            #expect(fixture.service.statistics.auditDropped == 1)
        }
    }

    /// A login that cannot be recorded is none.
    @Test func nothingHappensWithoutItsEvent() async throws {
        try await withService { fixture in
            _ = try await fixture.service.signUp("ann")
            try await fixture.psql("ALTER TABLE _audit ADD CHECK (event <> 'login')")
            await #expect(throws: SkyrowError.self) {
                try await fixture.service.logIn(LogInRequest(authData: ["username": "ann"], password: "secret"))
            }
            #expect(try await fixture.psql("SELECT count(*) FROM _session") == "1")
        }
    }

    @Test func whatIsOldIsRemovedInParts() async throws {
        try await withService { fixture in
            try await fixture.psql(
                """
                INSERT INTO _audit (at, event, outcome)
                SELECT now() - i * interval '1 min' - interval '400 d' + interval '30 s', 'login', 'ok'
                FROM generate_series(-4, 25000) AS i
                """
            )
            await fixture.service.purge()
            let left = try await fixture.psql("SELECT count(*) FROM _audit")
            #expect(left == "5")
        }
    }
}
