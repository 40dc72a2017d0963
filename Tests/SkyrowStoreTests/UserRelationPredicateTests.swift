import SkyrowModel
import SkyrowPostgres
import SkyrowQuery
import SkyrowTestSupport
import Testing

@testable import SkyrowStore

/// Predicates about what users are to each other, in SQL, in memory and by hand.
@Suite(.timeLimit(.minutes(60))) struct UserRelationPredicateTests {
    private struct Edge: Hashable {
        var from: UserID
        var relation: UserRelation
        var to: UserID
    }

    @Test func sqlAndMemoryDecideAsTheEdgesSay() async throws {
        try await withRecords { f in
            var random = SeededGenerator.forTest()
            let users = (0..<8).map { UserID("u\($0)") }
            var edges: Set<Edge> = []
            for _ in 0..<60 {
                let edge = Edge(
                    from: random.element(users),
                    relation: random.element([.friend, .follow]),
                    to: random.element(users)
                )
                if edge.from != edge.to { edges.insert(edge) }
            }
            let names = users.map { "('\($0)')" }.joined(separator: ", ")
            let rows = edges.map { "('\($0.from)', '\($0.relation.rawValue)', '\($0.to)')" }.joined(separator: ", ")
            try await f.psql(
                """
                INSERT INTO "user" (_id) VALUES \(names);
                INSERT INTO _user (id) VALUES \(names);
                INSERT INTO _relation (user_id, name, other_id) VALUES \(rows);
                SELECT _create_type('opinion');
                ALTER TABLE opinion ADD author text COLLATE "C" REFERENCES "user" (_id), ADD by_name text COLLATE "C";
                INSERT INTO opinion (_id, _owner, author, by_name) SELECT _id, _id, _id, _id FROM "user"
                    WHERE _id LIKE 'u_';
                INSERT INTO opinion (_id) VALUES ('none')
                """
            )
            try await f.store.cache.reload()
            func holds(_ other: UserID, _ relation: UserRelation, _ direction: RelationDirection, _ user: UserID)
                -> Bool
            {
                let out = edges.contains(Edge(from: user, relation: relation, to: other))
                let back = edges.contains(Edge(from: other, relation: relation, to: user))
                switch direction {
                case .outward: return out
                case .inward: return back
                case .mutual: return out && back
                }
            }
            var found = 0
            for user in users.map(Optional.some) + [nil] {
                let caller = user.map { Caller(kind: .user($0)) } ?? .anonymous
                let access = RecordAccess(in: .everyone, for: .reading, by: caller)
                for relation in [UserRelation.friend, .follow] {
                    for direction in RelationDirection.allCases {
                        let expected = users.filter { other in
                            user.map { holds(other, relation, direction, $0) } ?? false
                        }.map(\.rawValue)
                        for name in ["_owner_id", "author", "by_name"] {
                            let predicate = Predicate.userRelation(path(name), relation, direction)
                            for (predicate, expected) in [
                                (predicate, expected),
                                (.not(predicate), users.map(\.rawValue).filter { !expected.contains($0) } + ["none"]),
                            ] {
                                let query = RecordQuery(
                                    type: type("opinion"),
                                    predicate: predicate,
                                    sort: [SortKey(path("_id"))]
                                )
                                let result = try await f.store.query(query, with: access)
                                let ids = try result.records.map { try #require($0.collected()).id.id }
                                #expect(ids == expected.sorted(), "seed \(random.seed): \(caller.kind) \(predicate)")
                                found += ids.count
                                let table = try #require(f.store.cache.current[type("opinion")])
                                var resolver = Resolver(schema: f.store.cache.current, root: table, access: access)
                                let interpreter = MemoryInterpreter(
                                    try resolver.resolve(query),
                                    isRelated: { other, asked in
                                        holds(other, asked.relation, asked.direction, asked.user)
                                    }
                                )
                                let inMemory = (users.map(\.rawValue) + ["none"]).filter { id in
                                    let value = id == "none" ? nil : StoredValue.scalar(.text(id))
                                    var record = StoredRecord(type: type("opinion"), storedID: id)
                                    record.owner = id == "none" ? nil : UserID(id)
                                    if let value { record.fields = [field("author"): value, field("by_name"): value] }
                                    return interpreter.matches(record)
                                }
                                #expect(
                                    inMemory.sorted() == expected.sorted(),
                                    "seed \(random.seed): \(caller.kind) \(predicate)"
                                )
                            }
                        }
                    }
                }
            }
            #expect(found > 500)
        }
    }

    @Test(arguments: [
        ("n", ErrorCode.invalidArgument), ("gone", .recordQueryInvalid), ("_created_at", .invalidArgument),
    ])
    func theKeyPathLeadsToTheIDOfAUser(_ name: String, _ code: ErrorCode) async throws {
        try await withRecords { f in
            try await f.psql("SELECT _create_type('opinion'); ALTER TABLE opinion ADD n bigint")
            try await f.store.cache.reload()
            let query = RecordQuery(type: type("opinion"), predicate: .userRelation(path(name), .friend, .mutual))
            let access = RecordAccess(in: .everyone, for: .reading, by: Caller(kind: .user("u")))
            let error = await #expect(throws: SkyrowError.self) { try await f.store.query(query, with: access) }
            #expect(error?.code == code)
            #expect(error?.path == "predicate[2]")
        }
    }
}
