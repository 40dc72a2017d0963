import SkyrowModel
import SkyrowProtocol
import SkyrowTestSupport
import Testing

@testable import SkyrowPostgres
@testable import SkyrowStore

/// How long an access list may be.
@Suite(.timeLimit(.minutes(60))) struct AccessListLengthTests {
    private static func list(_ count: Int) -> AccessList {
        AccessList((0..<count).map { AccessEntry(.user("user\($0)"), .read) })
    }

    private static func refusal(of list: AccessList, maximum: Int = AccessList.defaultMaximum) -> SkyrowError? {
        let item = SaveRequest.Item.draft(draft("note/1", access: list))
        return BatchPlan([item], catalog: .notes, database: .everyone, maximumAccessEntries: maximum) { "new" }
            .failures[0]?.error
    }

    @Test(arguments: [(100, 100), (3, 3), (10_000, 10_000)])
    func aRequestHasListsOfBoundedLength(_ count: Int, maximum: Int) {
        #expect(Self.refusal(of: Self.list(count), maximum: maximum) == nil)
        let error = Self.refusal(of: Self.list(count + 1), maximum: maximum)
        #expect(error?.code == .invalidArgument)
        #expect(error?.message == "An access list can have at most \(maximum) entries.")
        #expect(error?.info["arguments"] == .list([.string("_access")]))
    }

    @Test(
        arguments: [{ .user(UserID($0)) }, { .role(RoleName($0)) }, { .group(GroupName($0)) }]
            as [@Sendable (String) -> Subject]
    )
    func namesInAListAreThoseOfUsersRolesAndGroups(_ subject: @Sendable (String) -> Subject) {
        func refusal(_ name: String) -> SkyrowError? {
            Self.refusal(of: AccessList([AccessEntry(subject(name), .read)]))
        }
        #expect(refusal(String(repeating: "\u{E9}", count: 127)) == nil)
        #expect(refusal(String(repeating: "\u{E9}", count: 128))?.code == .invalidArgument)
        #expect(refusal("a\u{0}")?.code == .invalidArgument)
    }

    @Test(arguments: [Subject.field(field("members"))])
    func whatOnlyRulesNameIsRefused(_ subject: Subject) {
        let error = Self.refusal(of: AccessList([AccessEntry(.everyone, .read), AccessEntry(subject, .read)]))
        #expect(error?.code == .invalidArgument)
        #expect(error?.path == "_access.\(subject.member)")
        let known: [Subject] = [.users, .registered, .verified] + Subject.Relation.allCases.map { .relation($0) }
        #expect(Self.refusal(of: AccessList(known.map { AccessEntry($0, .update) })) == nil)
    }

    @Test func aRowOfPsqlHasAListOfBoundedSizeToo() async throws {
        try await withRecords { f in
            func insert(_ id: String, _ key: String, _ count: Int) async throws {
                try await f.psql(
                    """
                    INSERT INTO note (_id, _access)
                    SELECT '\(id)', jsonb_object_agg(\(key), 'read') FROM generate_series(1, \(count)) AS i
                    """
                )
            }
            try await insert("1", "'user:u' || i", 10_001)
            try await insert("2", "'user:' || repeat('x', 900) || i", 1_000)
            await #expect(throws: (any Error).self) { try await insert("3", "'user:' || repeat('x', 900) || i", 2_000) }
        }
    }

    @Test func aListThatIsTooLargeStaysReadableUntilItIsShortened() async throws {
        try await withRecords { f in
            // As an older version left it: rows that are there are not looked at again.
            try await f.psql(
                """
                ALTER TABLE note DROP CONSTRAINT _access_fits;
                INSERT INTO note (_id, _owner, title, _access) SELECT 'long', 'ann', 'x',
                    jsonb_object_agg('user:' || i || (SELECT string_agg(md5(i || '.' || j), '') FROM generate_series(1, 7) AS j), 'read')
                        || '{"user:bob": "read"}'
                FROM generate_series(1, 10000) AS i;
                ALTER TABLE note ADD CONSTRAINT _access_fits CHECK (_access_fits(_access)) NOT VALID
                """
            )
            #expect(try await f.fetch("note/long")?.access?.entries.count == 10_001)
            #expect(try await f.fetch("note/long", .bob) != nil)
            let refused = try await f.store.save(
                [.draft(draft("note/long", ["title": .string("y")]))],
                in: .everyone,
                caller: .ann,
                atomic: false
            )[0]
            #expect(refused.error?.code == .constraintViolated)
            let saved = try await f.save("note/long", ["title": .string("y")], access: AccessList([]))
            #expect(saved.access == AccessList([]))
        }
    }
}
