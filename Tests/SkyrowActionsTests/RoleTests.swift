import SkyrowModel
import SkyrowProtocol
import Testing

@testable import SkyrowActions

@Suite struct RoleTests {
    @Test func aFreshDatabaseHasTheAdministratorsRoleAndNoAdministrator() async throws {
        try await withService { fixture in
            let roles = try await fixture.psql("SELECT name, is_admin, by_default FROM _role")
            #expect(roles == "Admin|t|f")
            #expect(try await fixture.psql("SELECT count(*) FROM _user_role") == "0")
        }
    }

    @Test func rolesAreGivenAndTakenAndUnknownUsersPassedOver() async throws {
        try await withService { fixture in
            let (ann, _) = try await fixture.service.signUp("ann")
            let (bob, _) = try await fixture.service.signUp("bob")
            let master = ServiceFixture.masterCaller
            try await fixture.service.run(
                Actions.roleAssign,
                RoleAssignment(roles: ["writer", "Admin"], users: [ann.userID, "nobody"]),
                by: master
            )
            try await fixture.service.run(
                Actions.roleAssign,
                RoleAssignment(roles: ["writer"], users: [ann.userID, bob.userID]),
                by: master
            )
            #expect(
                try await fixture.service.run(Actions.roleGet, [ann.userID, bob.userID, "nobody"], by: master)
                    == [ann.userID: ["Admin", "writer"], bob.userID: ["writer"], "nobody": []]
            )
            // Seen at once where it was done: no request goes on with the old roles.
            let admin = try await fixture.service.authenticate(.token(ann.accessToken), for: .administrator)
            var expected = Caller(
                kind: .user(ann.userID),
                roles: ["Admin", "writer"],
                isAdministrator: true,
                isRegistered: true
            )
            // Of a sign-up of the last ten minutes.
            expected.isElevated = true
            #expect(admin == expected)
            try await fixture.service.run(
                Actions.roleRevoke,
                RoleAssignment(roles: ["Admin", "unknown"], users: [ann.userID]),
                by: admin
            )
            try await expectError(.permissionDenied) {
                try await fixture.service.authenticate(.token(ann.accessToken), for: .administrator)
            }
            (expected.roles, expected.isAdministrator) = (["writer"], false)
            #expect(try await fixture.service.authenticate(.token(ann.accessToken), for: .user) == expected)
        }
    }

    @Test func onlyAnAdministratorGivesRoles() async throws {
        try await withService { fixture in
            let (ann, caller) = try await fixture.service.signUp("ann")
            let request = RoleAssignment(roles: ["Admin"], users: [ann.userID])
            for caller in [caller, .anonymous] {
                try await expectError(.permissionDenied) {
                    try await fixture.service.run(Actions.roleAssign, request, by: caller)
                }
                try await expectError(.permissionDenied) {
                    try await fixture.service.run(Actions.roleRevoke, request, by: caller)
                }
            }
            #expect(try await fixture.psql("SELECT count(*) FROM _user_role") == "0")
        }
    }

    @Test func oneAsksAboutOnesOwnRolesAndAnAdministratorAboutAnybodys() async throws {
        try await withService { fixture in
            let (ann, caller) = try await fixture.service.signUp("ann")
            #expect(try await fixture.service.run(Actions.roleGet, [ann.userID], by: caller) == [ann.userID: []])
            #expect(try await fixture.service.run(Actions.roleGet, [], by: caller) == [:])
            try await expectError(.permissionDenied) {
                try await fixture.service.run(Actions.roleGet, ["bob"], by: caller)
            }
            try await expectError(.permissionDenied) {
                try await fixture.service.run(Actions.roleGet, [ann.userID, "bob"], by: caller)
            }
            try await expectError(.notAuthenticated) {
                try await fixture.service.run(Actions.roleGet, [ann.userID], by: .anonymous)
            }
            let admin = Caller(kind: .user(ann.userID), roles: ["Admin"], isAdministrator: true)
            #expect(try await fixture.service.run(Actions.roleGet, ["bob"], by: admin) == ["bob": []])
        }
    }

    @Test func newUsersGetTheDefaultRoles() async throws {
        try await withService { fixture in
            let defaults = try await fixture.service.run(
                Actions.roleDefault,
                ["reader", "writer"],
                by: ServiceFixture.masterCaller
            )
            #expect(defaults == ["reader", "writer"])
            #expect(try await fixture.service.signUp("ann").result.roles == ["reader", "writer"])
            #expect(try await fixture.service.run(Actions.roleDefault, [], by: ServiceFixture.masterCaller) == [])
            #expect(try await fixture.service.signUp("bob").result.roles == [])
            #expect(try await fixture.service.signUp(SignUpRequest()).roles == [])
        }
    }

    @Test func theSetOfAdministratorsRolesIsReplaced() async throws {
        try await withService { fixture in
            let (ann, _) = try await fixture.service.signUp("ann")
            try await fixture.service.run(
                Actions.roleAssign,
                RoleAssignment(roles: ["chief"], users: [ann.userID]),
                by: ServiceFixture.masterCaller
            )
            try await expectError(.permissionDenied) {
                try await fixture.service.authenticate(.token(ann.accessToken), for: .administrator)
            }
            #expect(
                try await fixture.service.run(Actions.roleAdmin, ["chief"], by: ServiceFixture.masterCaller) == [
                    "chief"
                ]
            )
            _ = try await fixture.service.authenticate(.token(ann.accessToken), for: .administrator)
            #expect(try await fixture.psql("SELECT name FROM _role WHERE is_admin") == "chief")
            _ = try await fixture.service.run(Actions.roleAdmin, [], by: ServiceFixture.masterCaller)
            try await expectError(.permissionDenied) {
                try await fixture.service.authenticate(.token(ann.accessToken), for: .administrator)
            }
        }
    }

    @Test(arguments: ["", "a\0b", RoleName(String(repeating: "r", count: 256))])
    func aRoleHasAName(name: RoleName) async throws {
        try await withService { fixture in
            let request = RoleAssignment(roles: ["fine", name], users: [])
            try await expectError(.invalidArgument) {
                try await fixture.service.run(Actions.roleAssign, request, by: ServiceFixture.masterCaller)
            }
            try await expectError(.invalidArgument) {
                try await fixture.service.run(Actions.roleDefault, ["fine", name], by: ServiceFixture.masterCaller)
            }
            try await expectError(.invalidArgument) {
                try await fixture.service.run(Actions.roleAdmin, ["fine", name], by: ServiceFixture.masterCaller)
            }
            #expect(try await fixture.psql("SELECT count(*) FROM _role") == "1")
        }
    }

    @Test func aRolesNameIsAnyText() async throws {
        try await withService { fixture in
            let names: [RoleName] = [
                "'; DROP TABLE _role; --", "\"", "{}", "é", "a,b", RoleName(String(repeating: "r", count: 64)),
            ]
            for (number, name) in names.enumerated() {
                let (ann, _) = try await fixture.service.signUp("ann\(number)")
                try await fixture.service.run(
                    Actions.roleAssign,
                    RoleAssignment(roles: [name], users: [ann.userID]),
                    by: ServiceFixture.masterCaller
                )
                #expect(try await fixture.service.authenticate(.token(ann.accessToken), for: .user).roles == [name])
            }
        }
    }

    @Test func aRoleGivenElsewhereIsSeenHereThroughItsNotice() async throws {
        try await withService { fixture in
            try await fixture.withSecondService { second in
                let (ann, _) = try await fixture.service.signUp("ann")
                #expect(try await second.service.authenticate(.token(ann.accessToken), for: .user).roles == [])
                second.observations.clear()
                try await fixture.service.run(
                    Actions.roleAssign,
                    RoleAssignment(roles: ["writer"], users: [ann.userID]),
                    by: ServiceFixture.masterCaller
                )
                try await second.observations.wait(for: "sessionsForgotten") { $0 == .sessionsForgotten(.users(1)) }
                #expect(try await second.service.authenticate(.token(ann.accessToken), for: .user).roles == ["writer"])
            }
        }
    }
}
