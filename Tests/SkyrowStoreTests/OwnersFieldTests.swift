import SkyrowModel
import SkyrowProtocol
import SkyrowTestSupport
import Testing

@testable import SkyrowPostgres
@testable import SkyrowStore

/// A field that owners alone see, `email`: on every way by which it leaves, and in everything that asks about it.
@Suite(.timeLimit(.minutes(60))) struct OwnersFieldTests {
    private static let email = field("email")
    private static let callers: [Caller] = [
        .ann, .bob, .master, Caller(kind: .user("carl"), roles: (0..<50).map { "role\($0)" }),
    ]

    /// Users with these addresses; ann's profile may be written by everyone.
    private func withEmails(_ body: @escaping @Sendable (RecordsFixture) async throws -> Void) async throws {
        try await withRecords { f in
            try await f.psql(
                #"""
                UPDATE "user" SET email = _id || '@example.org';
                UPDATE "user" SET _access = '{"public": "write"}' WHERE _id = 'ann';
                """#
            )
            try await f.save("note/1", ["title": .string("x")])
            try await f.save("note/2", ["title": .string("y")], .bob)
            try await body(f)
        }
    }

    /// The address of a user as a caller sees it.
    private static func visible(_ user: String, to caller: Caller) -> RecordValue? {
        caller.isMaster || caller.userID == UserID(user) ? .string("\(user)@example.org") : nil
    }

    @Test func everyExitShowsItToTheOwner() async throws {
        try await withEmails { f in
            for caller in Self.callers + [.anonymous] {
                let users = ["ann", "bob"]
                for ids in [["ann"], ["bob"], users] {
                    let records = try await f.store.fetch(ids.map { id("user/\($0)") }, in: .everyone, caller: caller)
                    for (name, record) in zip(ids, records) {
                        #expect(try record.record.fields[Self.email] == Self.visible(name, to: caller))
                    }
                }
                for counts in [false, true] {
                    var query = RecordQuery(type: .user, sort: [SortKey(path("_id"))])
                    query.countsMatches = counts
                    let result = try await f.store.query(query, in: .everyone, caller: caller)
                    #expect(
                        result.records.map { $0.collected()?.fields[Self.email] }
                            == users.map { Self.visible($0, to: caller) }
                    )
                    query = RecordQuery(
                        type: type("note"),
                        sort: [SortKey(path("_id"))],
                        include: [Inclusion(name: "by", keyPath: path("_owner"))]
                    )
                    query.countsMatches = counts
                    let notes = try await f.store.query(query, in: .everyone, caller: caller)
                    #expect(
                        notes.records.map { ($0.collected()?.transient["by"] ?? nil)?.fields[Self.email] }
                            == users.map { Self.visible($0, to: caller) }
                    )
                }
            }
        }
    }

    @Test func aSaveAnswersItToTheOwnerAndTellsOthersNothing() async throws {
        try await withEmails { f in
            try await f.psql(#"ALTER TABLE "user" ADD city text"#)
            try await f.store.cache.reload()
            for caller in [Caller.ann, .bob, .master] {
                let saved = try await f.save("user/ann", ["city": .string("Bern")], caller)
                #expect(saved.fields[Self.email] == Self.visible("ann", to: caller))
                let stale = draft("user/ann", ["city": .string("Basel")], precondition: .revision(0))
                let conflict = try await f.store.save([.draft(stale)], in: .everyone, caller: caller, atomic: false)
                guard case .record(let current) = conflict[0].error?.info["record"] else {
                    Issue.record("The conflict is without its record.")
                    return
                }
                #expect(current.fields[Self.email] == Self.visible("ann", to: caller))
            }
            // A right guess is refused as a wrong one is.
            for guess in [RecordValue.string("ann@example.org"), .string("else@example.org"), .null] {
                for others in [[], [draft("user/bob", ["email": .string("bob@example.org")])]] {
                    let outcomes = try await f.store.save(
                        ([draft("user/ann", ["email": guess])] + others).map { .draft($0) },
                        in: .everyone,
                        caller: .bob,
                        atomic: false
                    )
                    #expect(outcomes[0].error?.code == .deniedArgument)
                    #expect(outcomes[0].error?.info["arguments"] == .list([.string("email")]))
                    #expect(others.isEmpty || outcomes[1].error == nil)
                }
            }
        }
    }

    @Test func anOrderByItTellsNothingOfOthers() async throws {
        try await withEmails { f in
            // Against the order of the ids.
            try await f.psql(#"UPDATE "user" SET email = CASE _id WHEN 'ann' THEN 'z' ELSE 'a' END"#)
            for (caller, sorted) in [
                (Caller.ann, ["ann", "bob"]), (.bob, ["bob", "ann"]), (.master, ["bob", "ann"]),
            ] {
                for keyPath in ["email", "_owner.email"] {
                    let ids = try await f.query(type: "user", caller) { $0.sort = [SortKey(path(keyPath))] }
                    #expect(ids == sorted)
                }
            }
            let carl = Self.callers[3]
            #expect(try await f.query(type: "user", carl) { $0.sort = [SortKey(path("email"))] } == ["ann", "bob"])
        }
    }

    // MARK: Predicates

    private static let literals = ["ann@example.org", "bob@example.org", "x", ""]

    private func randomPredicate(_ depth: Int, _ random: inout SeededGenerator) -> Predicate {
        let literal = Self.literals.randomElement(using: &random) ?? ""
        func compare(_ comparison: ComparisonOperator, _ value: RecordValue) -> Predicate {
            .comparison(comparison, .keyPath(path("email")), .value(value))
        }
        switch Int.random(in: 0..<(depth > 0 ? 10 : 7), using: &random) {
        case 0: return compare(.eq, .string(literal))
        case 1: return compare(.neq, .string(literal))
        case 2: return compare(.eq, .null)
        case 3: return compare(.neq, .null)
        case 4: return compare(.like, .string("a%"))
        case 5: return .comparison(.in, .keyPath(path("email")), .list([.string(literal), .string("bob@example.org")]))
        case 6: return .comparison(.eq, .keyPath(path("_owner.email")), .keyPath(path("email")))
        case 7: return .not(randomPredicate(depth - 1, &random))
        case 8: return .and([randomPredicate(depth - 1, &random), randomPredicate(depth - 1, &random)])
        default: return .or([randomPredicate(depth - 1, &random), randomPredicate(depth - 1, &random)])
        }
    }

    /// What a predicate says of a profile whose address is this to the caller; nil is SQL's NULL.
    private func holds(_ predicate: Predicate, _ email: String?) -> Bool? {
        switch predicate {
        case .not(let part): return holds(part, email).map { !$0 }
        case .and(let parts):
            let all = parts.map { holds($0, email) }
            return all.contains(false) ? false : all.contains(nil) ? nil : true
        case .or(let parts):
            let all = parts.map { holds($0, email) }
            return all.contains(true) ? true : all.contains(nil) ? nil : false
        case .comparison(.eq, _, .value(.null)): return email == nil
        case .comparison(.neq, _, .value(.null)): return email != nil
        case .comparison(.eq, _, .value(.string(let text))): return email.map { $0 == text }
        case .comparison(.neq, _, .value(.string(let text))): return email.map { $0 != text }
        case .comparison(.like, _, _): return email.map { $0.hasPrefix("a") }
        case .comparison(.in, _, .list(let values)): return email.map { values.contains(.string($0)) }
        case .comparison(_, .keyPath, .keyPath): return email.map { _ in true }
        case .comparison, .none, .between, .regex, .match, .found, .elements, .place, .related, .userRelation:
            return nil
        }
    }

    /// The statement's answer is that of a memory in which the addresses of others are not there at all.
    @Test func aPredicateMeetsWhatTheCallerSees() async throws {
        try await withEmails { f in
            var random = SeededGenerator(seed: 11)
            for round in 0..<200 {
                let predicate = randomPredicate(3, &random)
                let caller = Self.callers[round % Self.callers.count]
                let expected = ["ann", "bob"].filter { user in
                    guard case .string(let email)? = Self.visible(user, to: caller) else {
                        return holds(predicate, nil) == true
                    }
                    return holds(predicate, email) == true
                }
                let found = try await f.query(predicate, type: "user", caller) { $0.sort = [SortKey(path("_id"))] }
                #expect(found == expected, "\(caller.kind) \(predicate)")
                var query = RecordQuery(type: .user, predicate: predicate)
                query.countsMatches = true
                query.limit = 0
                #expect(try await f.store.query(query, in: .everyone, caller: caller).count == expected.count)
            }
        }
    }
}
