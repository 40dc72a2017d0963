import SkyrowModel
import SkyrowProtocol
import SkyrowStore
import Testing

@testable import SkyrowActions

@Suite struct SuspendAccountTests {
    private func disabling(_ user: UserID, _ message: String? = nil, until: Timestamp? = nil) -> DisabledState {
        DisabledState(userID: user, isDisabled: true, message: message, expiry: until)
    }

    private let logIn = LogInRequest(authData: ["username": "ann"], password: "secret")

    @Test func aDisabledAccountCannotLogInAndItsSessionsEndForGood() async throws {
        try await withService { fixture in
            let service = fixture.service
            let (result, _) = try await service.signUp("ann")
            let master = ServiceFixture.masterCaller
            try await service.run(Actions.authDisableSet, disabling(result.userID, "Be nice."), by: master)
            let error = try await expectError(.userDisabled) { try await service.logIn(logIn) }
            #expect(error?.info == ["message": .string("Be nice.")])
            try await expectError(.userDisabled) {
                try await service.authenticate(.token(result.accessToken), for: .user)
            }
            #expect(try await service.authenticate(.token(result.accessToken), for: .keyOrToken) == .anonymous)

            try await service.run(
                Actions.authDisableSet,
                DisabledState(userID: result.userID, isDisabled: false),
                by: master
            )
            try await expectError(.accessTokenNotAccepted) {
                try await service.authenticate(.token(result.accessToken), for: .keyOrToken)
            }
            let again = try await service.logIn(logIn)
            _ = try await service.authenticate(.token(again.accessToken), for: .user)
            let rows = try await fixture.psql(
                "SELECT disabled, disabled_message IS NULL, disabled_until IS NULL FROM _user"
            )
            #expect(rows == "f|t|t")
            #expect(try await fixture.psql("SELECT count(*) FROM _session") == "1")
        }
    }

    @Test func aSuspensionEndsByItselfAndTheTokenOfBeforeStaysRevoked() async throws {
        try await withService { fixture in
            let service = fixture.service
            let (result, _) = try await service.signUp("ann")
            let end = fixture.clock.clock.now().adding(.seconds(60))
            try await service.run(
                Actions.authDisableSet,
                disabling(result.userID, until: end),
                by: ServiceFixture.masterCaller
            )
            let error = try await expectError(.userDisabled) { try await service.logIn(logIn) }
            #expect(error?.info == ["expiry": .datetime(end)])
            fixture.clock.advance(by: .seconds(60))
            try await expectError(.accessTokenNotAccepted) {
                try await service.authenticate(.token(result.accessToken), for: .user)
            }
            _ = try await service.logIn(logIn)
        }
    }

    /// Nobody could begin another session of such an account.
    @Test func theSessionOfAnAnonymousAccountIsBarredAndGoesOn() async throws {
        try await withService { fixture in
            let service = fixture.service
            let result = try await service.signUp(SignUpRequest())
            let master = ServiceFixture.masterCaller
            try await service.run(Actions.authDisableSet, disabling(result.userID), by: master)
            try await expectError(.userDisabled) {
                try await service.authenticate(.token(result.accessToken), for: .user)
            }
            try await service.run(
                Actions.authDisableSet,
                DisabledState(userID: result.userID, isDisabled: false),
                by: master
            )
            let caller = try await service.authenticate(.token(result.accessToken), for: .user)
            #expect(caller.userID == result.userID)
        }
    }

    @Test func anotherProcessLearnsOfItByNotice() async throws {
        try await withService { fixture in
            try await fixture.withSecondService { second in
                let (result, caller) = try await fixture.service.signUp("ann")
                #expect(try await second.service.authenticate(.token(result.accessToken), for: .user) == caller)
                try await fixture.service.run(
                    Actions.authDisableSet,
                    disabling(result.userID),
                    by: ServiceFixture.masterCaller
                )
                try await second.observations.wait(for: "sessionsForgotten") { $0 == .sessionsForgotten(.users(1)) }
                try await expectError(.userDisabled) {
                    try await second.service.authenticate(.token(result.accessToken), for: .user)
                }
            }
        }
    }

    @Test func onlyAnAdministratorDisablesAccountsThatExist() async throws {
        try await withService { fixture in
            let (ann, caller) = try await fixture.service.signUp("ann")
            for caller in [caller, .anonymous] {
                try await expectError(.permissionDenied) {
                    try await fixture.service.run(Actions.authDisableSet, disabling(ann.userID), by: caller)
                }
            }
            let administrator = Caller(kind: .user("root"), roles: ["Admin"], isAdministrator: true)
            try await fixture.service.run(Actions.authDisableSet, disabling(ann.userID), by: administrator)
            #expect(try await fixture.psql("SELECT disabled FROM _user") == "t")
            for isDisabled in [true, false] {
                let request = DisabledState(userID: "nobody", isDisabled: isDisabled)
                try await expectError(.resourceNotFound) {
                    try await fixture.service.run(Actions.authDisableSet, request, by: administrator)
                }
            }
        }
    }
}

/// What an operator does with accounts at a terminal.
@Suite struct OperatorAccountTests {
    private func withOperator(_ body: (ActionService, ServiceFixture) async throws -> Void) async throws {
        try await withService { fixture in try await body(fixture.service, fixture) }
    }

    @Test func anAccountIsMadeWithRolesAndWithoutASession() async throws {
        try await withOperator { service, fixture in
            try await fixture.service.store.roles.setDefault(["reader"])
            let request = SignUpRequest(
                authData: ["username": "ann"],
                password: "secret",
                profile: [(field("email"), .string("ann@example.org"))]
            )
            let id = try await service.createAccount(request, roles: ["admin"])
            #expect(try await fixture.psql("SELECT count(*) FROM _session") == "0")
            let found = try await fixture.service.store.users.accounts(named: "ANN")
            #expect(found.map(\.id) == [id])
            #expect(found.first?.roles == ["Admin", "reader"] && found.first?.isAdministrator == true)
            #expect(found.first?.loginKeys == [field("username"): "ann", field("email"): "ann@example.org"])
            let result = try await fixture.service.logIn(
                LogInRequest(authData: ["email": "ann@example.org"], password: "secret")
            )
            #expect(result.userID == id && result.roles == ["Admin", "reader"])
            #expect(try await fixture.service.store.users.accounts(named: id.rawValue).first?.sessionCount == 1)
        }
    }

    @Test func aTakenNameAndAnUnknownRoleMakeNothing() async throws {
        try await withOperator { service, fixture in
            _ = try await fixture.service.signUp("ann")
            try await expectError(.duplicated) {
                try await service.createAccount(SignUpRequest(authData: ["username": "Ann"], password: "secret"))
            }
            let error = try await expectError(.resourceNotFound) {
                try await service.createAccount(
                    SignUpRequest(authData: ["username": "bob"], password: "x"),
                    roles: ["Admn"]
                )
            }
            #expect(error?.message == "The role 'Admn' does not exist; existing roles: Admin.")
            #expect(try await fixture.psql("SELECT count(*) FROM _user") == "1")
        }
    }

    @Test func aRoleThatTwoSpellingsFitMustBeSpelledOut() async throws {
        try await withOperator { service, fixture in
            try await fixture.psql("INSERT INTO _role (name) VALUES ('editor'), ('Editor')")
            try await expectError(.resourceNotFound) {
                try await service.createAccount(
                    SignUpRequest(authData: ["username": "a"], password: "x"),
                    roles: ["EDITOR"]
                )
            }
            _ = try await service.createAccount(
                SignUpRequest(authData: ["username": "a"], password: "x"),
                roles: ["editor"]
            )
            #expect(try await fixture.psql("SELECT role FROM _user_role") == "editor")
        }
    }

    @Test func anIdMeansItsAccountAndANameEveryAccountThatHasIt() async throws {
        try await withOperator { service, fixture in
            let users = fixture.service.store.users
            let first = try await service.createAccount(SignUpRequest(authData: ["username": "ann"], password: "x"))
            let second = try await service.createAccount(
                SignUpRequest(authData: ["username": first.rawValue], password: "x")
            )
            let third = try await service.createAccount(SignUpRequest(authData: ["email": "ann"], password: "x"))
            #expect(try await users.accounts(named: first.rawValue).map(\.id) == [first])
            #expect(try await Set(users.accounts(named: "ann").map(\.id)) == [first, third])
            #expect(try await users.accounts(named: "nobody").isEmpty)
            #expect(try await users.accounts(named: "a\0").isEmpty)
            let disabling = DisabledState(userID: second, isDisabled: true, message: "spam")
            try await service.run(Actions.authDisableSet, disabling, Call(byOperatorFor: nil))
            #expect(try await users.newest(2).map(\.id) == [third, second])
            #expect(try await users.newest(9, disabledOnly: true).map(\.id) == [second])
            #expect(try await users.count() == 3)
            #expect(try await users.count(disabledOnly: true) == 1)
            #expect(try await users.accounts(named: second.rawValue).first?.suspension?.message == "spam")
        }
    }

    /// The rules and the audit log of an action hold for an operator's command too.
    @Test func anActionOfTheOperatorIsAuditedAsOne() async throws {
        try await withOperator { service, fixture in
            let ann = try await service.createAccount(SignUpRequest(authData: ["username": "ann"], password: "x"))
            let change = RoleChange(role: "Admin", users: [ann])
            #expect(try await service.run(Actions.roleAdd, change, Call(byOperatorFor: nil)) == 1)
            let members = RoleMembersQuery(role: "Admin")
            #expect(
                try await service.run(Actions.roleMembers, members, Call(byOperatorFor: nil)).elements == [.user(ann)]
            )
            let error = try await expectError(.resourceNotFound) {
                try await service.run(Actions.authTOTPRemove, (), Call(byOperatorFor: ann))
            }
            #expect(error?.message == "The account has no second factor.")
            let creation = KeyCreation(name: "ios", kind: .client)
            _ = try await service.run(Actions.keyCreate, creation, Call(byOperatorFor: nil))
            #expect(
                try await service.run(Actions.userDelete, UserDeletion(userID: ann), Call(byOperatorFor: nil))
                    .isFinished
            )
            #expect(
                try await fixture.psql("SELECT event || ' ' || actor FROM _audit ORDER BY id").split(separator: "\n")
                    == ["signup operator", "role.add operator", "key.create operator", "delete operator"]
            )
        }
    }

    @Test func anInvitationByACommandIsMailedByTheService() async throws {
        try await withOperator { service, fixture in
            let request = CodeRequest(email: "ann@example.org")
            try await expectError(.notSupported) {
                try await service.run(Actions.authInvite, request, by: ServiceFixture.masterCaller)
            }
            let ann = try await service.run(Actions.authInvite, request, Call(byOperatorFor: nil))
            #expect(try await fixture.psql("SELECT actor FROM _audit WHERE event = 'invite'") == "operator")
            #expect(try await fixture.service.store.users.accounts(named: "ann@example.org").map(\.id) == [ann])
        }
    }
}
