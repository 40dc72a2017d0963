import SkyrowModel
import SkyrowTestSupport
import Testing

@testable import SkyrowStore

/// References of private records to public ones, which do not keep those from being deleted.
@Suite(.timeLimit(.minutes(60))) struct PrivateReferenceTests {
    private static let link: [String: RecordValue] = ["category": .reference(id("category/1"))]

    private func delete(
        _ f: RecordsFixture,
        _ ids: [String],
        _ caller: Caller = .ann,
        in scope: DatabaseScope = .everyone,
        atomic: Bool = false
    ) async throws -> [SkyrowError?] {
        try await f.store.delete(ids.map(id), in: scope, caller: caller, atomic: atomic).map(\.error)
    }

    @Test(arguments: [false, true])
    func aPublicRecordIsDeletedWhateverPrivateOnesReferToIt(atomic: Bool) async throws {
        try await withRecords { f in
            try await f.save([draft("category/1"), draft("category/2"), draft("category/3")])
            let before = try await f.save("note/1", Self.link, .bob, in: .user("bob"))
            try await f.save("note/1", Self.link, in: .user("ann"))
            try await f.save("note/2", ["category": .reference(id("category/3"))], .bob, in: .user("bob"))
            #expect(try await delete(f, ["category/1", "category/2"], atomic: atomic) == [nil, nil])

            let after = try #require(try await f.fetch("note/1", .bob, in: .user("bob")))
            #expect(after.fields[field("category")] == nil)
            #expect(after.updatedBy == "bob")
            let (older, newer) = (try #require(before.revision), try #require(after.revision))
            #expect(newer > older)
            #expect(try await f.fetch("note/2", .bob, in: .user("bob"))?.fields[field("category")] != nil)
            #expect(try await f.psql("SELECT count(*) FROM _tombstone") == "2")
        }
    }

    @Test(arguments: [false, true])
    func aPublicReferenceBindsAndThenThePrivateOnesStay(atomic: Bool) async throws {
        try await withRecords { f in
            try await f.save("category/1")
            try await f.save("note/shared", Self.link, .bob)
            try await f.save("note/1", Self.link, .bob, in: .user("bob"))
            if atomic {
                await #expect(throws: SkyrowError.self) {
                    try await delete(f, ["category/1", "category/2"], atomic: true)
                }
            } else {
                #expect(try await delete(f, ["category/1"]).map(\.?.code) == [.constraintViolated])
            }
            #expect(try await f.fetch("note/1", .bob, in: .user("bob"))?.fields[field("category")] != nil)
        }
    }

    @Test func whoMayNotDeleteTheRecordReleasesNothing() async throws {
        try await withRecords { f in
            try await f.save("category/1")
            try await f.save("note/1", Self.link, in: .user("ann"))
            #expect(try await delete(f, ["category/1"], .bob).map(\.?.code) == [.permissionDenied])
            #expect(try await f.fetch("note/1", in: .user("ann"))?.fields[field("category")] != nil)
        }
    }

    @Test func withinAPrivateDatabaseReferencesBind() async throws {
        try await withRecords { f in
            try await f.save([draft("category/1"), draft("note/1", Self.link)], in: .user("ann"))
            #expect(try await delete(f, ["category/1"], in: .user("ann")).map(\.?.code) == [.constraintViolated])
            #expect(try await f.fetch("note/1", in: .user("ann"))?.fields[field("category")] != nil)
        }
    }

    @Test func aChainIsDeletedThoughPrivateRecordsReferToAllOfIt() async throws {
        try await withRecords { f in
            try await f.save([
                draft("note/1", ["next": .reference(id("note/2")), "category": .reference(id("category/1"))]),
                draft("note/2", ["next": .reference(id("note/1"))]), draft("category/1"),
            ])
            for (name, target) in [("a", "note/1"), ("b", "note/2")] {
                try await f.save("note/\(name)", ["next": .reference(id(target))], .bob, in: .user("bob"))
            }
            try await f.save("note/c", Self.link, .bob, in: .user("bob"))
            #expect(try await delete(f, ["category/1", "note/1", "note/2"], atomic: true) == [nil, nil, nil])
            #expect(try await f.psql("SELECT count(*) FROM note WHERE next IS NULL AND category IS NULL") == "3")
        }
    }

    @Test func moreReferencesThanOneStatementReleasesAreReleasedInParts() async throws {
        try await withRecords { f in
            try await f.save("category/1")
            let count = 2 * PrivateReferences.maximumRows + 500
            try await f.psql(
                """
                INSERT INTO note (_id, _database, _owner, category)
                SELECT '~bob/' || i, 'bob', 'bob', '1' FROM generate_series(1, \(count)) AS i
                """
            )
            #expect(try await delete(f, ["category/1"]) == [nil])
            #expect(try await f.psql("SELECT count(*) FROM note WHERE category IS NULL") == "\(count)")
        }
    }
}
