import SkyrowModel
import SkyrowProtocol
import SkyrowTestSupport
import Testing

@testable import SkyrowActions

@Suite(.timeLimit(.minutes(60))) struct RoleMembershipTests {
    private static let master = ServiceFixture.masterCaller

    private func list(_ entries: (Subject, AccessLevel)...) -> AccessList {
        AccessList(entries.map { AccessEntry($0.0, $0.1) })
    }

    @Test func aUserHasTheRolesThatContainTheirs() async throws {
        try await withService { fixture in
            let service = fixture.service
            let (ann, _) = try await service.signUp("ann")
            // a is in b, b in c, and so on: seven in all, and a second way.
            for name in ["a", "b", "c", "d", "e", "f", "g"] as [RoleName] {
                _ = try await service.run(Actions.roleSave, RoleSave(name: name), by: Self.master)
            }
            for (role, member) in [("b", "a"), ("c", "b"), ("d", "c"), ("e", "d"), ("f", "e"), ("f", "a")]
                as [(RoleName, RoleName)]
            {
                let added = try await service.run(
                    Actions.roleAdd,
                    RoleChange(role: role, roles: [member]),
                    by: Self.master
                )
                #expect(added == 1)
            }
            func roles() async throws -> [RoleName] {
                try await service.authenticate(.token(ann.accessToken), for: .user).roles
            }
            #expect(try await roles() == [])
            let added = try await service.run(
                Actions.roleAdd,
                RoleChange(role: "a", users: [ann.userID]),
                by: Self.master
            )
            #expect(added == 1)
            #expect(try await roles() == ["a", "b", "c", "d", "e", "f"])
            // Given are fewer, and those are what old clients see.
            #expect(try await service.run(Actions.roleGet, [ann.userID], by: Self.master) == [ann.userID: ["a"]])
            let again = try await service.logIn(LogInRequest(authData: ["username": "ann"], password: "secret"))
            #expect(again.roles == ["a"])
            let caller = try await service.authenticate(.token(again.accessToken), for: .user)
            #expect(caller.roles == ["a", "b", "c", "d", "e", "f"])
            // One way is gone, the other one stays.
            let removed = try await service.run(
                Actions.roleRemove,
                RoleChange(role: "b", roles: ["a"]),
                by: Self.master
            )
            #expect(removed == 1)
            #expect(try await roles() == ["a", "f"])
            #expect(
                try await service.run(Actions.roleRemove, RoleChange(role: "b", roles: ["a"]), by: Self.master) == 0
            )
        }
    }

    @Test func anAdministratorIsOneByWayOfRoles() async throws {
        try await withService { fixture in
            let service = fixture.service
            let (ann, _) = try await service.signUp("ann")
            _ = try await service.run(Actions.roleSave, RoleSave(name: "staff"), by: Self.master)
            _ = try await service.run(Actions.roleAdd, RoleChange(role: "Admin", roles: ["staff"]), by: Self.master)
            try await expectError(.permissionDenied) {
                try await service.authenticate(.token(ann.accessToken), for: .administrator)
            }
            _ = try await service.run(Actions.roleAdd, RoleChange(role: "staff", users: [ann.userID]), by: Self.master)
            let admin = try await service.authenticate(.token(ann.accessToken), for: .administrator)
            #expect(admin.isAdministrator)
            let again = try await service.logIn(LogInRequest(authData: ["username": "ann"], password: "secret"))
            _ = try await service.authenticate(.token(again.accessToken), for: .administrator)
            try await service.run(Actions.roleDelete, "staff", by: admin)
            try await expectError(.permissionDenied) {
                try await service.authenticate(.token(again.accessToken), for: .administrator)
            }
        }
    }

    @Test func noOneGivesWhatWouldMakeThemAdministrator() async throws {
        try await withService { fixture in
            let service = fixture.service
            let (ann, caller) = try await service.signUp("ann")
            let own = list((.user(ann.userID), .write))
            for name in ["staff", "above", "below"] as [RoleName] {
                _ = try await service.run(Actions.roleSave, RoleSave(name: name, access: own), by: Self.master)
            }
            _ = try await service.run(Actions.roleAdd, RoleChange(role: "above", roles: ["staff"]), by: Self.master)
            _ = try await service.run(Actions.roleAdd, RoleChange(role: "Admin", roles: ["above"]), by: Self.master)
            // Not herself, not a role that she could be put into, and not by taking another out.
            for request in [
                RoleChange(role: "staff", users: [ann.userID]),
                RoleChange(role: "above", users: [ann.userID]),
                RoleChange(role: "staff", roles: ["below"]),
            ] {
                try await expectError(.permissionDenied) { try await service.run(Actions.roleAdd, request, by: caller) }
                try await expectError(.permissionDenied) {
                    try await service.run(Actions.roleRemove, request, by: caller)
                }
            }
            try await expectError(.resourceNotFound) {
                try await service.run(Actions.roleAdd, RoleChange(role: "Admin", users: [ann.userID]), by: caller)
            }
            try await expectError(.permissionDenied) { try await service.run(Actions.roleDelete, "staff", by: caller) }
            #expect(
                try await service.run(Actions.roleAdd, RoleChange(role: "below", users: [ann.userID]), by: caller) == 1
            )
            // Which roles are an administrator's is for the master key, whoever asks.
            let boss = Caller(kind: .user(ann.userID), roles: ["Admin"], isAdministrator: true)
            for caller in [caller, boss] {
                for request in [
                    RoleSave(name: "below", isAdministrators: true),
                    RoleSave(name: "below", isDefault: true),
                    RoleSave(name: "fresh", isAdministrators: true),
                ] {
                    try await expectError(.permissionDenied) {
                        try await service.run(Actions.roleSave, request, by: caller)
                    }
                }
            }
            try await expectError(.permissionDenied) { try await service.run(Actions.roleDelete, "Admin", by: boss) }
            #expect(
                try await service.run(Actions.roleAdd, RoleChange(role: "staff", users: [ann.userID]), by: boss) == 1
            )
        }
    }

    @Test func aRoleIsPutIntoAnotherByOneWhoMayChangeBoth() async throws {
        try await withService { fixture in
            let service = fixture.service
            let (ann, caller) = try await service.signUp("ann")
            let may = list((.user(ann.userID), .update))
            let sees = list((.users, .read))
            for (name, access) in [("mine", may), ("also mine", may), ("seen", sees), ("hidden", nil)]
                as [(RoleName, AccessList?)]
            {
                _ = try await service.run(Actions.roleSave, RoleSave(name: name, access: access), by: Self.master)
            }
            func add(_ role: RoleName, _ roles: RoleName..., users: [UserID] = []) async throws(SkyrowError) -> Int {
                try await service.run(Actions.roleAdd, RoleChange(role: role, users: users, roles: roles), by: caller)
            }
            #expect(try await add("mine", "also mine") == 1)
            #expect(try await add("mine", "also mine", users: [ann.userID]) == 1)
            for (role, member, code, path) in [
                ("mine", "seen", .permissionDenied, "roles[0]"), ("seen", "mine", .permissionDenied, "role"),
                ("mine", "hidden", .resourceNotFound, "roles[0]"), ("hidden", "mine", .resourceNotFound, "role"),
                ("mine", "unknown", .resourceNotFound, "roles[0]"), ("unknown", "mine", .resourceNotFound, "role"),
            ] as [(RoleName, RoleName, ErrorCode, String)] {
                let error = try await expectError(code) { try await add(role, member) }
                #expect(error?.path == path)
            }
            // What is taken out gives nothing, so that it takes a right to the role alone.
            _ = try await service.run(Actions.roleAdd, RoleChange(role: "mine", roles: ["hidden"]), by: Self.master)
            let removed = try await service.run(
                Actions.roleRemove,
                RoleChange(role: "mine", users: ["ghost"], roles: ["hidden", "unknown", "also mine"]),
                by: caller
            )
            #expect(removed == 2)
            let error = try await expectError(.resourceNotFound) {
                try await add("mine", users: [ann.userID, "ghost"])
            }
            #expect(error?.path == "users[1]")
            try await expectError(.notAuthenticated) {
                try await service.run(Actions.roleAdd, RoleChange(role: "mine"), by: .anonymous)
            }
        }
    }

    @Test func aCircleIsRefusedWithItsWay() async throws {
        try await withService { fixture in
            let service = fixture.service
            let (ann, caller) = try await service.signUp("ann")
            let may = list((.user(ann.userID), .update))
            for (name, access) in [("a", may), ("b", nil), ("c", may)] as [(RoleName, AccessList?)] {
                _ = try await service.run(Actions.roleSave, RoleSave(name: name, access: access), by: Self.master)
            }
            _ = try await service.run(Actions.roleAdd, RoleChange(role: "b", roles: ["a"]), by: Self.master)
            _ = try await service.run(Actions.roleAdd, RoleChange(role: "c", roles: ["b"]), by: Self.master)
            let circle = RoleChange(role: "a", roles: ["c"])
            var error = try await expectError(.duplicated) {
                try await service.run(Actions.roleAdd, circle, by: Self.master)
            }
            #expect(error?.info["cycle"] == .list([.string("c"), .string("a"), .string("b"), .string("c")]))
            // One who does not see b is not shown it.
            error = try await expectError(.duplicated) { try await service.run(Actions.roleAdd, circle, by: caller) }
            #expect(error?.info["cycle"] == nil)
            error = try await expectError(.duplicated) {
                try await service.run(Actions.roleAdd, RoleChange(role: "a", roles: ["a"]), by: caller)
            }
            #expect(error?.info["cycle"] == .list([.string("a"), .string("a")]))
            #expect(try await fixture.psql("SELECT count(*) FROM _role_role") == "2")
        }
    }

    @Test func theListOfARoleIsChangedByItsOwner() async throws {
        try await withService { fixture in
            let service = fixture.service
            let (ann, caller) = try await service.signUp("ann")
            let (_, other) = try await service.signUp("bob")
            let boss = Caller(kind: .user(ann.userID), isAdministrator: true)
            try await expectError(.permissionDenied) {
                try await service.run(Actions.roleSave, RoleSave(name: "club", access: .some(list())), by: caller)
            }
            let made = try await service.run(Actions.roleSave, RoleSave(name: "club", access: .some(list())), by: boss)
            #expect(made.owner == ann.userID && made.access == list() && !made.isDefault && !made.isAdministrators)
            // To one who may not see it, it is not there.
            try await expectError(.permissionDenied) {
                try await service.run(Actions.roleSave, RoleSave(name: "club", access: .some(nil)), by: other)
            }
            let open = try await service.run(
                Actions.roleSave,
                RoleSave(name: "club", access: .some(list((.users, .update)))),
                by: caller
            )
            #expect(open.revision > made.revision)
            // Who changes members does not change who may.
            try await expectError(.permissionDenied) {
                try await service.run(
                    Actions.roleSave,
                    RoleSave(name: "club", access: .some(list((.users, .write)))),
                    by: other
                )
            }
            // What is not named stays as it is.
            #expect(
                try await service.run(Actions.roleSave, RoleSave(name: "club"), by: caller).access
                    == list((.users, .update))
            )
            for bad in [
                list((.relation(.friend), .read)), AccessList((0...100).map { AccessEntry(.user("u\($0)"), .read) }),
            ] {
                try await expectError(.invalidArgument) {
                    try await service.run(Actions.roleSave, RoleSave(name: "club", access: .some(bad)), by: boss)
                }
            }
            // Without a list its owner has no more to say than others.
            _ = try await service.run(Actions.roleSave, RoleSave(name: "club", access: .some(nil)), by: caller)
            try await expectError(.permissionDenied) {
                try await service.run(Actions.roleSave, RoleSave(name: "club", access: .some(list())), by: caller)
            }
        }
    }

    @Test func rolesAndMembersAreListedInParts() async throws {
        try await withService { fixture in
            let service = fixture.service
            let (ann, caller) = try await service.signUp("ann")
            let sees = list((.user(ann.userID), .read))
            for (name, access) in [("a", sees), ("b", nil), ("c", sees), ("d", list())] as [(RoleName, AccessList?)] {
                _ = try await service.run(
                    Actions.roleSave,
                    RoleSave(name: name, access: .some(access)),
                    by: Self.master
                )
            }
            func names(_ caller: Caller, _ page: PageRequest) async throws -> ([RoleName], String?) {
                let page = try await service.run(Actions.roleList, page, by: caller)
                return (page.elements.map(\.name), page.cursor)
            }
            #expect(try await names(Self.master, PageRequest(limit: 3)) == (["Admin", "a", "b"], "b"))
            #expect(try await names(Self.master, PageRequest(limit: 3, after: "b")) == (["c", "d"], nil))
            #expect(try await names(caller, PageRequest(limit: 1)) == (["a"], "a"))
            #expect(try await names(caller, PageRequest(limit: 5, after: "a")) == (["c"], nil))
            try await expectError(.notAuthenticated) {
                try await service.run(Actions.roleList, PageRequest(), by: .anonymous)
            }

            let users = try await [service.signUp("u1").result.userID, service.signUp("u2").result.userID].sorted()
            _ = try await service.run(
                Actions.roleAdd,
                RoleChange(role: "a", users: users, roles: ["b", "c"]),
                by: Self.master
            )
            func members(_ page: PageRequest) async throws -> ([RoleMember], String?) {
                let page = try await service.run(
                    Actions.roleMembers,
                    RoleMembersQuery(role: "a", limit: page.limit, after: page.after),
                    by: caller
                )
                return (page.elements, page.cursor)
            }
            #expect(try await members(PageRequest(limit: 1)) == ([.role("b")], "role:b"))
            let second = try await members(PageRequest(limit: 2, after: "role:b"))
            #expect(second == ([.role("c"), .user(users[0])], "user:\(users[0])"))
            #expect(try await members(PageRequest(limit: 2, after: second.1)) == ([.user(users[1])], nil))
            for name in ["b", "d", "unknown"] as [RoleName] {
                try await expectError(.resourceNotFound) {
                    try await service.run(Actions.roleMembers, RoleMembersQuery(role: name), by: caller)
                }
            }
            try await expectError(.invalidArgument) { try await members(PageRequest(after: "b")) }
        }
    }

    @Test func aNameIsFreeAgainAfterAWhileOrByForce() async throws {
        try await withService { fixture in
            let service = fixture.service
            let (ann, _) = try await service.signUp("ann")
            func save(force: Bool = false) async throws(SkyrowError) -> Role {
                try await service.run(Actions.roleSave, RoleSave(name: "crew", forces: force), by: Self.master)
            }
            _ = try await save()
            try await service.run(Actions.roleDelete, "crew", by: Self.master)
            try await expectError(.resourceNotFound) {
                try await service.run(Actions.roleDelete, "crew", by: Self.master)
            }
            try await expectError(.duplicated) { try await save() }
            // By no other way either.
            try await expectError(.duplicated) {
                try await service.run(
                    Actions.roleAssign,
                    RoleAssignment(roles: ["crew"], users: [ann.userID]),
                    by: Self.master
                )
            }
            try await expectError(.duplicated) {
                try await service.run(Actions.roleDefault, ["crew"], by: ServiceFixture.masterCaller)
            }
            try await expectError(.duplicated) {
                try await service.run(Actions.roleAdmin, ["crew"], by: ServiceFixture.masterCaller)
            }
            await #expect(throws: (any Error).self) {
                try await fixture.psql("INSERT INTO _role (name) VALUES ('crew')")
            }
            #expect(try await save(force: true).name == "crew")
            #expect(try await save().name == "crew")
            try await service.run(Actions.roleDelete, "crew", by: Self.master)
            try await fixture.psql("UPDATE _tombstone SET deleted_at = now() - interval '31 days'")
            #expect(try await save().name == "crew")
        }
    }

    @Test func aNewRoleAndAGroupHaveANameThatPeopleCanTell() async throws {
        try await withService { fixture in
            let service = fixture.service
            let (ann, _) = try await service.signUp("ann")
            for name in [
                "", " a", "a ", "a\u{7}", "a\u{85}b", "e\u{301}", "\u{3000}a", "a\u{A0}",
                String(repeating: "r", count: 65),
                String(repeating: "\u{E9}", count: 33),
            ] {
                try await expectError(.invalidArgument) {
                    try await service.run(Actions.roleSave, RoleSave(name: RoleName(name)), by: Self.master)
                }
                try await expectError(.invalidArgument) {
                    try await service.run(
                        Actions.roleAssign,
                        RoleAssignment(roles: [RoleName(name)], users: [ann.userID]),
                        by: Self.master
                    )
                }
                try await expectError(.invalidArgument) {
                    try await service.run(
                        Actions.groupAdd,
                        GroupChange(groups: [GroupName(name)], user: ann.userID),
                        by: Self.master
                    )
                }
            }
        }
    }

    @Test func whatWasPutIntoARoleElsewhereIsSeenHere() async throws {
        try await withService { fixture in
            try await fixture.withSecondService { second in
                let (ann, _) = try await fixture.service.signUp("ann")
                for (role, users) in [("a", [ann.userID]), ("b", [])] as [(RoleName, [UserID])] {
                    _ = try await fixture.service.run(Actions.roleSave, RoleSave(name: role), by: Self.master)
                    _ = try await fixture.service.run(
                        Actions.roleAdd,
                        RoleChange(role: role, users: users),
                        by: Self.master
                    )
                }
                #expect(try await second.service.authenticate(.token(ann.accessToken), for: .user).roles == ["a"])
                second.observations.clear()
                _ = try await fixture.service.run(Actions.roleAdd, RoleChange(role: "b", roles: ["a"]), by: Self.master)
                try await second.observations.wait(for: "sessionsForgotten") { $0 == .sessionsForgotten(.all) }
                #expect(try await second.service.authenticate(.token(ann.accessToken), for: .user).roles == ["a", "b"])
                second.observations.clear()
                _ = try await fixture.service.run(
                    Actions.groupAdd,
                    GroupChange(groups: ["golf"], user: ann.userID),
                    by: Self.master
                )
                try await second.observations.wait(for: "sessionsForgotten") { $0 == .sessionsForgotten(.users(1)) }
                #expect(try await second.service.authenticate(.token(ann.accessToken), for: .user).groups == ["golf"])
            }
        }
    }

    // MARK: Groups

    @Test func groupsAdmitThoseWhoCarryThem() async throws {
        try await withService { fixture in
            let service = fixture.service
            let (_, ann) = try await service.signUp("ann")
            let (bob, before) = try await service.signUp("bob")
            _ = try await service.save(
                SaveRequest(
                    RecordDraft(
                        id: id("note/1"),
                        access: AccessList([AccessEntry(.group("golf"), .update)]),
                        fields: [(field("n"), .integer(1))]
                    )
                ),
                by: ann
            )
            func outcome(_ caller: Caller) async throws -> (read: String, saved: [String]) {
                let read = try await service.fetch(
                    RecordIDsRequest(database: .everyone, ids: [id("note/1")]),
                    by: caller
                )
                return (
                    read[0].summary,
                    try await service.save(SaveRequest(draft("note/1", ["n": 2])), by: caller).summaries
                )
            }
            #expect(try await outcome(before).read == "ResourceNotFound")
            let request = GroupChange(groups: ["golf", "chess"], user: bob.userID)
            #expect(try await service.run(Actions.groupAdd, request, by: Self.master) == ["chess", "golf"])
            let member = try await service.authenticate(.token(bob.accessToken), for: .user)
            #expect(member.groups == ["chess", "golf"])
            #expect(try await outcome(member) == ("saved", ["saved"]))
            #expect(
                try await service.run(
                    Actions.groupRemove,
                    GroupChange(groups: ["golf"], user: bob.userID),
                    by: Self.master
                ) == [
                    "chess"
                ]
            )
            let after = try await service.authenticate(.token(bob.accessToken), for: .user)
            #expect(try await outcome(after) == ("ResourceNotFound", ["PermissionDenied"]))
            let again = try await service.logIn(LogInRequest(authData: ["username": "bob"], password: "secret"))
            #expect(try await service.authenticate(.token(again.accessToken), for: .user).groups == ["chess"])
        }
    }

    @Test func groupsAreGivenByAdministratorsAndSeenByTheirUser() async throws {
        try await withService { fixture in
            let service = fixture.service
            let (ann, caller) = try await service.signUp("ann")
            let boss = Caller(kind: .user("boss"), isAdministrator: true)
            try await expectError(.permissionDenied) {
                try await service.run(Actions.groupAdd, GroupChange(groups: ["golf"]), by: caller)
            }
            try await expectError(.permissionDenied) {
                try await service.run(Actions.groupRemove, GroupChange(groups: ["golf"]), by: caller)
            }
            #expect(
                try await service.run(
                    Actions.groupAdd,
                    GroupChange(groups: ["golf", "golf"], user: ann.userID),
                    by: boss
                ) == [
                    "golf"
                ]
            )
            #expect(try await service.run(Actions.groupList, nil, by: caller) == ["golf"])
            #expect(try await service.run(Actions.groupList, ann.userID, by: caller) == ["golf"])
            #expect(try await service.run(Actions.groupList, ann.userID, by: boss) == ["golf"])
            try await expectError(.permissionDenied) { try await service.run(Actions.groupList, "bob", by: caller) }
            try await expectError(.resourceNotFound) { try await service.run(Actions.groupList, "ghost", by: boss) }
            try await expectError(.resourceNotFound) {
                try await service.run(Actions.groupAdd, GroupChange(groups: ["golf"], user: "ghost"), by: boss)
            }
            try await expectError(.invalidArgument) { try await service.run(Actions.groupList, nil, by: Self.master) }
            // 200 and no more, also when they come one by one.
            let many = (0..<199).map { GroupName("g\($0)") }
            #expect(
                try await service.run(Actions.groupAdd, GroupChange(groups: many, user: ann.userID), by: boss).count
                    == 200
            )
            try await expectError(.invalidArgument) {
                try await service.run(Actions.groupAdd, GroupChange(groups: ["further"], user: ann.userID), by: boss)
            }
            #expect(try await service.run(Actions.groupList, ann.userID, by: boss).count == 200)
        }
    }
}
