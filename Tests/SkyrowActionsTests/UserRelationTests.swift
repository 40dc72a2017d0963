import SkyrowModel
import SkyrowProtocol
import SkyrowTestSupport
import Testing

@testable import SkyrowActions

@Suite(.timeLimit(.minutes(60))) struct UserRelationTests {
    /// Users by name, as callers.
    private func signUp(_ fixture: ServiceFixture, _ names: String...) async throws -> [Caller] {
        var callers: [Caller] = []
        for name in names { callers.append(try await fixture.service.signUp(name).caller) }
        return callers
    }

    private func id(_ caller: Caller) -> UserID { caller.userID ?? "" }

    private func add(
        _ fixture: ServiceFixture,
        _ relation: UserRelation,
        _ from: Caller,
        _ to: Caller...
    ) async throws -> [String] {
        try await fixture.service.run(Actions.relationAdd, RelationChange(relation, to.map(id)), by: from).map(
            \.summary
        )
    }

    private func users(
        _ fixture: ServiceFixture,
        _ relation: UserRelation,
        _ direction: RelationDirection,
        of caller: Caller
    ) async throws -> Set<UserID> {
        let page = try await fixture.service.run(Actions.relationQuery, RelationQuery(relation, direction), by: caller)
        #expect(page.count == page.users.count)
        return Set(page.users.map(\.user))
    }

    @Test func friendsAreTwoWhoHaveAddedEachOther() async throws {
        try await withService { fixture in
            let callers = try await signUp(fixture, "ann", "bob", "carl")
            let (ann, bob, carl) = (callers[0], callers[1], callers[2])
            #expect(try await add(fixture, .friend, ann, bob, carl) == ["one-sided", "one-sided"])
            #expect(try await users(fixture, .friend, .mutual, of: ann) == [])
            #expect(try await users(fixture, .friend, .outward, of: ann) == [id(bob), id(carl)])
            #expect(try await users(fixture, .friend, .inward, of: bob) == [id(ann)])
            let asked = try await fixture.service.run(Actions.relationRequests, RelationPart(), by: bob)
            #expect(asked.users.map(\.user) == [id(ann)] && asked.count == 1)
            #expect(try await add(fixture, .friend, bob, ann) == ["mutual"])
            #expect(try await add(fixture, .friend, ann, bob) == ["mutual"])
            for (one, other) in [(ann, bob), (bob, ann)] {
                #expect(try await users(fixture, .friend, .mutual, of: one) == [id(other)])
                let open = try await fixture.service.run(Actions.relationRequests, RelationPart(), by: one)
                #expect(open.users.isEmpty && open.count == 0)
            }
            // To follow is something else.
            #expect(try await users(fixture, .follow, .outward, of: ann) == [])
            let removed = try await fixture.service.run(
                Actions.relationRemove,
                RelationChange(.friend, [id(ann), id(carl), "ghost"]),
                by: bob
            )
            #expect(removed.map(\.summary) == ["done", "done", "done"])
            #expect(try await users(fixture, .friend, .mutual, of: ann) == [])
            // What ann has added stays a request of hers.
            #expect(try await users(fixture, .friend, .inward, of: bob) == [id(ann)])
        }
    }

    @Test func oneAddsThoseWhoseProfileOneReads() async throws {
        try await withService { fixture in
            let callers = try await signUp(fixture, "ann", "bob", "carl")
            let (ann, bob, carl) = (callers[0], callers[1], callers[2])
            #expect(try await add(fixture, .follow, carl, ann) == ["one-sided"])
            // Bob's profile is for carl, and carl's for no one.
            try await fixture.psql(
                """
                UPDATE "user" SET _access = '{"user:\(id(carl))": "read"}' WHERE _id = '\(id(bob))';
                UPDATE "user" SET _access = '{}' WHERE _id = '\(id(carl))';
                """
            )
            let request = RelationChange(.follow, [id(bob), id(carl), "ghost", "~odd", id(ann)])
            let outcomes = try await fixture.service.run(Actions.relationAdd, request, by: ann).map(\.summary)
            #expect(outcomes == Array(repeating: "ResourceNotFound", count: 4) + ["InvalidArgument"])
            // What is no id of a user is refused, and not looked for.
            for action in [Actions.relationAdd, Actions.relationRemove] {
                let error = try await expectError(.invalidArgument) {
                    try await fixture.service.run(action, RelationChange(.follow, [id(carl), "a\0"]), by: ann)
                }
                #expect(error?.path == "targets[1]")
            }
            #expect(try await add(fixture, .follow, carl, bob) == ["one-sided"])
            // A follower whose profile is hidden is not shown and not counted.
            #expect(try await users(fixture, .follow, .inward, of: ann) == [])
            #expect(try await users(fixture, .follow, .outward, of: carl) == [id(ann), id(bob)])
            try await expectError(.notAuthenticated) {
                try await fixture.service.run(Actions.relationAdd, request, by: ServiceFixture.masterCaller)
            }
            try await expectError(.notAuthenticated) {
                try await fixture.service.run(Actions.relationQuery, RelationQuery(.follow), by: .anonymous)
            }
        }
    }

    @Test func oneWhoIsKeptAwayFindsNoSuchUser() async throws {
        try await withService { fixture in
            let callers = try await signUp(fixture, "ann", "bob")
            let (ann, bob) = (callers[0], callers[1])
            _ = try await add(fixture, .friend, ann, bob)
            _ = try await add(fixture, .friend, bob, ann)
            _ = try await add(fixture, .follow, bob, ann)
            let blocked = try await fixture.service.run(
                Actions.relationBlock,
                RelationBlock([id(bob), id(ann), "ghost"]),
                by: ann
            )
            #expect(blocked.map(\.summary) == ["done", "InvalidArgument", "ResourceNotFound"])
            #expect(try await fixture.psql("SELECT name FROM _relation") == "block")
            #expect(try await add(fixture, .friend, bob, ann) == ["ResourceNotFound"])
            #expect(try await add(fixture, .follow, ann, bob) == ["PermissionDenied"])
            await #expect(throws: (any Error).self) {
                try await fixture.psql("INSERT INTO _relation VALUES ('\(id(bob))', 'follow', '\(id(ann))')")
            }
            // Both may keep the other away, and each ends that alone.
            _ = try await fixture.service.run(Actions.relationBlock, RelationBlock([id(ann)]), by: bob)
            _ = try await fixture.service.run(
                Actions.relationBlock,
                RelationBlock([id(bob)], isBlocked: false),
                by: ann
            )
            #expect(try await add(fixture, .follow, ann, bob) == ["ResourceNotFound"])
            _ = try await fixture.service.run(
                Actions.relationBlock,
                RelationBlock([id(ann)], isBlocked: false),
                by: bob
            )
            #expect(try await add(fixture, .follow, ann, bob) == ["one-sided"])
        }
    }

    @Test func aPageIsAPartOfThem() async throws {
        try await withService { fixture in
            let callers = try await signUp(fixture, "ann", "b", "c", "d")
            let others = callers.dropFirst().map(id).sorted()
            _ = try await fixture.service.run(Actions.relationAdd, RelationChange(.follow, others), by: callers[0])
            let rows: [(RelationPart, [UserID])] = [
                (RelationPart(limit: 2, offset: 0), Array(others[..<2])),
                (RelationPart(limit: 2, offset: 2), [others[2]]),
                (RelationPart(limit: 2, page: 2), [others[2]]), (RelationPart(limit: 0), []),
                (RelationPart(limit: 5, offset: 9), []), (RelationPart(limit: 1000, page: 101), []),
            ]
            for (part, expected) in rows {
                let query = RelationQuery(.follow, .outward, part)
                let page = try await fixture.service.run(Actions.relationQuery, query, by: callers[0])
                #expect(page.users.map(\.user) == expected)
                #expect(page.count == 3)
            }
            // What is passed over costs the database, and is bounded as it is in queries.
            let far = RelationPart(limit: 1000, page: 102)
            for error in [
                try await expectError(.invalidArgument) {
                    try await fixture.service.run(
                        Actions.relationQuery,
                        RelationQuery(.follow, .outward, far),
                        by: callers[0]
                    )
                },
                try await expectError(.invalidArgument) {
                    try await fixture.service.run(Actions.relationRequests, far, by: callers[0])
                },
            ] {
                #expect(error?.info["arguments"] == .list([.string("page")]))
            }
        }
    }

    /// Two users who add each other at the same moment are friends, whatever the order of the commits, and two who part
    /// are not.
    @Test func bothRowsOfAPairSayTheSame() async throws {
        try await withService { fixture in
            let callers = try await signUp(fixture, "ann", "bob", "carl")
            let service = fixture.service
            for round in 0..<min(60, seededCases(15)) {
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for (place, caller) in callers.enumerated() {
                        let others = callers.map(id).filter { $0 != id(caller) }
                        let request = RelationChange(.friend, place.isMultiple(of: 2) ? others : others.reversed())
                        group.addTask {
                            if (round + place) % 3 == 0 {
                                _ = try await service.run(Actions.relationRemove, request, by: caller)
                            } else {
                                _ = try await service.run(Actions.relationAdd, request, by: caller)
                            }
                        }
                    }
                    try await group.waitForAll()
                }
                let wrong = try await fixture.psql(
                    """
                    SELECT count(*) FROM _relation AS a WHERE a.mutual <> EXISTS (
                        SELECT FROM _relation AS b WHERE b.user_id = a.other_id AND b.name = a.name AND b.other_id = a.user_id
                    )
                    """
                )
                #expect(wrong == "0")
            }
        }
    }

    @Test(arguments: [
        "INSERT INTO _relation VALUES ('ann', 'friend', 'ann')", "INSERT INTO _relation VALUES ('ann', 'enemy', 'bob')",
        "UPDATE _relation SET other_id = 'carl'", "UPDATE _relation SET name = 'follow'",
    ])
    func psqlMakesNoOther(_ statement: String) async throws {
        try await withService { fixture in
            try await fixture.psql(
                """
                INSERT INTO "user" (_id) VALUES ('ann'), ('bob'), ('carl');
                INSERT INTO _user (id) VALUES ('ann'), ('bob'), ('carl');
                INSERT INTO _relation (user_id, name, other_id, mutual) VALUES ('ann', 'friend', 'bob', true);
                UPDATE _relation SET mutual = true;
                """
            )
            // What is said by hand about the other row does not hold.
            #expect(try await fixture.psql("SELECT mutual FROM _relation") == "f")
            await #expect(throws: (any Error).self) { try await fixture.psql(statement) }
        }
    }

    @Test func aDeletedAccountHasNoRelations() async throws {
        try await withService { fixture in
            let callers = try await signUp(fixture, "ann", "bob")
            _ = try await add(fixture, .friend, callers[0], callers[1])
            _ = try await add(fixture, .friend, callers[1], callers[0])
            try await fixture.psql("DELETE FROM \"user\" WHERE _id = '\(id(callers[1]))'")
            #expect(try await fixture.psql("SELECT count(*) FROM _relation") == "0")
        }
    }
}

extension RelationOutcome {
    fileprivate var user: UserID {
        switch self {
        case .related(let user, _, _), .done(let user), .failure(let user, _): user
        }
    }

    fileprivate var summary: String {
        switch self {
        case .related(_, let profile, let isMutual): profile == nil ? "hidden" : isMutual ? "mutual" : "one-sided"
        case .done: "done"
        case .failure(_, let error): error.code.name
        }
    }
}
