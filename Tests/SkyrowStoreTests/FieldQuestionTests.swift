import SkyrowModel
import SkyrowProtocol
import SkyrowTestSupport
import Testing

@testable import SkyrowPostgres
@testable import SkyrowStore

/// What is asked of a field beside what is seen of it, on every way by which something is asked: a grant and a refusal of each.
@Suite(.timeLimit(.minutes(60))) struct FieldQuestionTests {
    /// What a way takes of the rules of its field.
    private enum Need { case read, known, any, order }

    private static let sue = Caller(kind: .user("sue"), roles: ["staff"])

    /// A way by which `film` is asked about one of its fields; returns how many records or groups come of it.
    private struct Way: Sendable {
        var name: String
        var needs: Need
        var ask: @Sendable (RecordsFixture, Caller) async throws -> [Record?]
    }

    private static let film = type("film")
    private static let origin = try! Location(latitude: 0, longitude: 0)

    private static func query(
        _ name: String,
        _ needs: Need,
        _ change: @escaping @Sendable (inout RecordQuery) -> Void
    ) -> Way {
        Way(name: name, needs: needs) { f, caller in
            var query = RecordQuery(type: film)
            change(&query)
            let result = try await f.store.query(query, in: .everyone, caller: caller)
            return result.records.map { $0.collected() }
        }
    }

    private static func aggregate(_ name: String, _ needs: Need, _ query: AggregateQuery) -> Way {
        Way(name: name, needs: needs) { f, caller in
            let access = RecordAccess(caller, in: .everyone, for: .reading)
            return try await f.store.aggregate(query, with: access).groups.map { _ in nil }
        }
    }

    private static func changes(_ name: String, _ needs: Need, _ predicate: Predicate) -> Way {
        Way(name: name, needs: needs) { f, caller in
            var reader = FeedReader(f.store, caller, type: "film", predicate: predicate)
            try await reader.catchUp()
            return Array(reader.held.values)
        }
    }

    private static func compare(_ comparison: ComparisonOperator, _ name: String, _ value: RecordValue) -> Predicate {
        .comparison(comparison, .keyPath(path(name)), .value(value))
    }

    private static let byRank: SortKey = {
        var key = SortKey(path("title"), .descending)
        key.function = .rank
        return key
    }()

    private static let isOne = compare(.eq, "title", "star one")
    private static let isLike = compare(.like, "title", "star%")
    private static let isNear = Predicate.place(path("at"), .near(origin, radius: 500_000))

    private static let ways: [Way] = [
        query("eq", .known) { $0.predicate = isOne },
        query("and eq", .known) { $0.predicate = .and([isOne, compare(.eq, "stars", .integer(5))]) },
        query("in", .known) {
            $0.predicate = .comparison(.in, .keyPath(path("title")), .list(["star one", "x"]))
        },
        query("counted", .known) {
            $0.predicate = isOne
            $0.countsMatches = true
        },
        query("like", .any) { $0.predicate = isLike },
        query("not eq", .any) { $0.predicate = .not(compare(.eq, "title", "x")) },
        query("or eq", .any) { $0.predicate = .or([isOne]) },
        query("exists", .any) { $0.predicate = compare(.exists, "stars", .boolean(true)) },
        query("match", .any) { $0.predicate = .match(.keyPath(path("title")), "star") },
        query("near", .any) {
            $0.predicate = isNear
            $0.sort = [SortKey(path("_id"))]
        },
        query("within", .any) {
            $0.predicate = .comparison(.lt, .function(.distance(origin), path("at")), .value(.number(500_000)))
        },
        query("key path", .any) { $0.predicate = compare(.eq, "next.label", "b") },
        query("key path to the field", .any) { $0.predicate = compare(.eq, "open.title", "star one") },
        query("in_query", .any) {
            $0.predicate = .found(.keyPath(path("open")), by: Subquery(type: film, predicate: isOne), isNegated: false)
        },
        aggregate(
            "count by eq",
            .known,
            AggregateQuery(type: film, predicate: isOne, aggregates: [Aggregate("n", .count)])
        ),
        aggregate(
            "count by like",
            .any,
            AggregateQuery(type: film, predicate: isLike, aggregates: [Aggregate("n", .count)])
        ),
        changes("changes by eq", .known, isOne), changes("changes by like", .any, isLike),
        // What comes of these is sent.
        query("sort", .order) { $0.sort = [SortKey(path("title"))] },
        query("eq and sort", .order) {
            $0.predicate = isOne
            $0.sort = [SortKey(path("title"))]
        },
        query("sort by rank", .order) {
            $0.predicate = .match(.keyPath(path("title")), "star")
            $0.sort = [byRank]
        },
        query("nearest first", .order) { $0.predicate = isNear },
        query("included distance", .order) {
            $0.include = [Inclusion(name: "far", keyPath: path("at"), function: .distance(origin))]
        },
        query("sort behind", .order) { $0.sort = [SortKey(path("next.label"))] },
        aggregate(
            "group",
            .order,
            AggregateQuery(type: film, groupKeys: [GroupKey("k", path("title"))], aggregates: [])
        ),
        aggregate("maximum", .order, AggregateQuery(type: film, aggregates: [Aggregate("m", .maximum, path("stars"))])),
        aggregate(
            "count of values",
            .order,
            AggregateQuery(type: film, aggregates: [Aggregate("m", .count, path("stars"))])
        ),
        query("include", .read) { $0.include = [Inclusion(name: "next", keyPath: path("next"))] },
        query("select", .read) { $0.desiredFields = ["title"] },
        query("omit", .read) { $0.omittedFields = ["title"] },
    ]

    private static let staff: FieldSubjects = [.role("staff")]

    /// Rules of every field that is asked about, and what sue, who is of the staff, and others may with them.
    private static let rules: [(uses: [FieldUse: FieldSubjects], staff: Set<Need>, others: Set<Need>)] = [
        ([:], [.read, .known, .any, .order], [.read, .known, .any, .order]),
        ([.read: staff], [.read, .known, .any, .order], []),
        ([.compare: staff, .discover: staff], [.read, .known, .any, .order], [.read]),
        ([.compare: staff], [.read, .known, .any, .order], [.read, .known]),
        ([.compare: [], .discover: staff], [.read, .known], [.read]),
        ([.compare: [], .discover: []], [.read], [.read]),
        // What is not seen.
        ([.read: []], [], []), ([.read: [], .compare: staff], [.known, .any], []),
        ([.read: [], .discover: staff], [.known], []),
        ([.read: [], .compare: staff, .discover: [.users]], [.known, .any], [.known]),
        ([.read: staff, .compare: [.users]], [.read, .known, .any, .order], [.known, .any]),
        ([.read: [], .discover: FieldSubjects([.init(.role("staff"), allows: false), .init(.users)])], [], [.known]),
    ]

    private func withFilms(
        test: String = #function,
        _ body: @escaping @Sendable (RecordsFixture) async throws -> Void
    ) async throws {
        try await withRecords(test: test) { f in
            let fields: [FieldName: FieldType] = [
                field("title"): .string, field("stars"): .integer, field("at"): .location, field("label"): .string,
                field("next"): .reference(Self.film), field("open"): .reference(Self.film),
            ]
            _ = try await f.store.createTypes([RecordType(name: Self.film, fields: fields)])
            try await f.psql(
                """
                INSERT INTO film (_id, _owner, title, stars, at, label, next, open) VALUES
                    ('2', 'bob', 'star two', 3, 'POINT(9 9)', 'b', NULL, NULL),
                    ('1', 'ann', 'star one', 5, 'POINT(1 1)', 'a', '2', NULL);
                UPDATE film SET open = '1' WHERE _id = '2'
                """
            )
            try await body(f)
        }
    }

    private static func set(_ f: RecordsFixture, _ uses: [FieldUse: FieldSubjects], of names: [String]) async throws {
        try await f.psql("DELETE FROM _field_rule")
        var change = ClassAccessChange(type: film)
        for name in names { change.fields[field(name)] = uses.mapValues { .some($0) } }
        _ = try await f.store.classAccess.change(change)
        try await f.store.cache.reload()
    }

    @Test func eachWayTakesWhatTheRulesSayOfIt() async throws {
        try await withFilms { f in
            for rule in Self.rules {
                try await Self.set(f, rule.uses, of: ["title", "stars", "at", "next"])
                for (caller, rights) in [
                    (Self.sue, rule.staff), (.bob, rule.others), (.master, [.read, .known, .any, .order]),
                ] {
                    for way in Self.ways {
                        let place = "\(way.name) by \(caller.userID?.rawValue ?? "master") under \(rule.uses)"
                        do {
                            let found = try await way.ask(f, caller)
                            #expect(rights.contains(way.needs), "\(place)")
                            #expect(!found.isEmpty, "\(place)")
                            // However it was found, what is hidden is not sent.
                            for record in found.compactMap(\.self) where !rights.contains(.read) {
                                let sent = Set(record.fields.keys.map(\.rawValue))
                                #expect(sent.isDisjoint(with: ["title", "stars", "at", "next"]), "\(place): \(sent)")
                            }
                        } catch let error as SkyrowError {
                            #expect(
                                !rights.contains(way.needs) && error.code == .recordQueryDenied,
                                "\(place): \(error)"
                            )
                        }
                    }
                }
            }
        }
    }

    /// A reference that is followed for a predicate in all records is followed for an inclusion in those alone in which it is seen.
    @Test func whatAPredicateFollowsIsNoInclusion() async throws {
        try await withFilms { f in
            let owner = Caller(kind: .user("ann"), roles: ["staff"])
            try await Self.set(f, [.read: [.owner], .compare: Self.staff], of: ["next"])
            var query = RecordQuery(type: Self.film, predicate: Self.compare(.eq, "next.label", "b"))
            query.include = [Inclusion(name: "next", keyPath: path("next"))]
            for (caller, isIncluded) in [(owner, true), (Self.sue, false)] {
                for form in [IncludeForm.nested, .table] {
                    query.includeForm = form
                    let result = try await f.store.query(query, in: .everyone, caller: caller)
                    let record = try #require(result.records.first?.collected())
                    #expect(result.records.count == 1 && record.id == id("film/1"))
                    #expect((record.fields[field("next")] != nil) == isIncluded)
                    switch form {
                    case .nested: #expect(((record.transient["next"] ?? nil) != nil) == isIncluded, "\(caller)")
                    case .table: #expect((result.included?.isEmpty == false) == isIncluded, "\(caller)")
                    }
                }
            }
            await #expect(throws: SkyrowError.self) { try await f.store.query(query, in: .everyone, caller: .bob) }
        }
    }

    /// A rule about questions that depends on the record finds those of it, seen or not.
    @Test func whatIsAskedMayDependOnTheRecord() async throws {
        try await withFilms { f in
            for (uses, ann, bob) in [
                ([.read: [], .compare: [.owner]], ["1"], ["2"]),
                ([.read: [], .compare: FieldSubjects([.init(.owner, allows: false), .init(.users)])], ["2"], ["1"]),
                ([.read: [.owner], .compare: [.users]], ["1", "2"], ["1", "2"]),
                ([.read: [], .compare: [.user("ann")], .discover: [.owner]], ["1", "2"], nil),
            ] as [([FieldUse: FieldSubjects], [String], [String]?)] {
                try await Self.set(f, uses, of: ["title"])
                for (caller, expected) in [(Caller.ann, ann), (.bob, bob)] {
                    guard let expected else {
                        await #expect(throws: SkyrowError.self) {
                            try await f.query(Self.isLike, type: "film", caller)
                        }
                        continue
                    }
                    #expect(
                        try await f.query(Self.isLike, type: "film", caller).sorted() == expected,
                        "\(uses) \(caller)"
                    )
                }
            }
            // By a value that it knows bob finds what it owns.
            #expect(try await f.query(Self.compare(.eq, "title", "star two"), type: "film", .bob) == ["2"])
            #expect(try await f.query(Self.isOne, type: "film", .bob) == [])
        }
    }

    /// A change by predicate asks as a query does; a condition of a save is about one record, whose value it would find out.
    @Test func conditionsOfWritesAskAsQueriesDo() async throws {
        try await withFilms { f in
            try await f.psql("UPDATE film SET _access = '{\"users\": \"write\"}'")
            try await Self.set(f, [.read: [], .compare: Self.staff, .discover: [.users]], of: ["title"])
            for (caller, predicate, isAllowed, isCondition) in [
                (Self.sue, Self.isLike, true, true), (Caller.bob, Self.isLike, false, false),
                (Self.sue, Self.isOne, true, true), (.bob, Self.isOne, true, false),
            ] {
                var conditional = draft("film/1", ["label": .string("c")])
                conditional.condition = predicate
                let outcome = try await f.store.save(
                    [.draft(conditional)],
                    in: .everyone,
                    caller: caller,
                    atomic: false
                )[0]
                #expect(outcome.error?.code == (isCondition ? nil : .recordQueryDenied), "\(caller) \(outcome)")
                let request = BulkRequest(
                    database: .everyone,
                    type: Self.film,
                    match: .predicate(predicate),
                    change: .update(RecordChanges(draft("film/x", ["label": .string("d")])), size: 10),
                    atMost: 10
                )
                do throws(SkyrowError) {
                    _ = try await f.store.change(request, with: RecordAccess(caller, in: .everyone, for: .writing))
                    #expect(isAllowed)
                } catch {
                    #expect(!isAllowed && error.code == .recordQueryDenied)
                }
            }
        }
    }

    /// The condition of a save is about a record that is named: whether a guess of its value is right is found out about that one.
    @Test func whoMayOnlyDiscoverAFieldMakesNoConditionOfIt() async throws {
        try await withRecords { f in
            try await f.psql("SELECT _create_type('film'); ALTER TABLE film ADD title text, ADD stars bigint")
            try await f.store.cache.reload()
            let open = AccessList([AccessEntry(.everyone, .write)])
            try await f.save("film/1", ["title": "star one", "stars": 1], access: open)
            for (uses, isAllowed) in [
                ([.read: [], .compare: [], .discover: Self.staff], false), ([.read: [], .compare: Self.staff], true),
            ] as [([FieldUse: FieldSubjects], Bool)] {
                try await Self.set(f, uses, of: ["title"])
                var draft = draft("film/1", ["stars": 2])
                draft.condition = Self.isOne
                let outcome = try await f.store.save([.draft(draft)], in: .everyone, caller: Self.sue, atomic: false)[0]
                #expect(outcome.error?.code == (isAllowed ? nil : .recordQueryDenied))
                // Who asks for the record by its value is another matter.
                var query = RecordQuery(type: Self.film)
                query.predicate = Self.isOne
                #expect(try await f.store.query(query, in: .everyone, caller: Self.sue).records.count == 1)
            }
        }
    }
}
