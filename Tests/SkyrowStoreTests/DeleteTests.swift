import SkyrowModel
import SkyrowTestSupport
import Testing

@testable import SkyrowStore

@Suite(.timeLimit(.minutes(60))) struct DeleteTests {
    private func delete(
        _ f: RecordsFixture,
        _ ids: [String],
        _ caller: Caller = .ann,
        in scope: DatabaseScope = .everyone,
        atomic: Bool = false
    ) async throws -> [ErrorCode?] {
        try await f.store.delete(ids.map(id), in: scope, caller: caller, atomic: atomic).map { outcome in
            #expect(outcome.isDeleted == (outcome.error == nil))
            return outcome.error?.code
        }
    }

    @Test func eachRecordIsDeletedOrRefusedInItsOwnRight() async throws {
        try await withRecords { f in
            try await f.save([draft("note/1"), draft("note/2")])
            try await f.save([draft("note/theirs"), draft("note/secret", access: AccessList([]))], .bob)
            let codes = try await delete(
                f,
                ["note/1", "note/theirs", "note/secret", "note/404", "nothing/1", "user/ann", "note/2"]
            )
            #expect(
                codes == [
                    nil, .permissionDenied, .resourceNotFound, .resourceNotFound, .resourceNotFound, .permissionDenied,
                    nil,
                ]
            )
            #expect(try await f.query(nil, .master) == ["secret", "theirs"])
            #expect(try await f.psql("SELECT id FROM _tombstone ORDER BY 1") == "1\n2")
        }
    }

    @Test func aRecordThatOthersReferToStays() async throws {
        try await withRecords { f in
            try await f.save([
                draft("category/1"), draft("category/2"), draft("note/1", ["category": .reference(id("category/1"))]),
            ])
            #expect(try await delete(f, ["category/1", "category/2"]) == [.constraintViolated, nil])
            #expect(try await delete(f, ["category/1", "note/1"]) == [nil, nil])
        }
    }

    @Test func chainsAndCyclesAreDeletedInAnyOrder() async throws {
        try await withRecords { f in
            try await f.save([
                draft("note/1", ["next": .reference(id("note/2"))]),
                draft("note/2", ["next": .reference(id("note/1"))]),
                draft("note/3", ["next": .reference(id("note/4"))]),
                draft("note/4", ["next": .reference(id("note/5"))]),
                draft("note/5", ["next": .null]), draft("note/6", ["next": .reference(id("note/2"))]),
            ])
            #expect(
                try await delete(f, ["note/5", "note/2", "note/4", "note/1", "note/3"])
                    == [nil, .constraintViolated, nil, .constraintViolated, nil]
            )
            #expect(try await delete(f, ["note/2", "note/1", "note/6"]) == [nil, nil, nil])
        }
    }

    @Test func anAtomicDeleteIsAllOrNothing() async throws {
        try await withRecords { f in
            try await f.psql("ALTER TABLE category ADD note text REFERENCES note (_id) DEFERRABLE")
            try await f.store.cache.reload()
            try await f.save([
                draft("note/1", ["category": .reference(id("category/1"))]),
                draft("category/1", ["note": .reference(id("note/1"))]), draft("note/2"),
            ])
            try await f.save("note/theirs", [:], .bob)
            let error = await #expect(throws: SkyrowError.self) {
                _ = try await delete(f, ["note/2", "note/theirs", "note/404"], atomic: true)
            }
            #expect(error?.code == .atomicOperationFailure)
            #expect(error?.info.keys.sorted() == ["note/404", "note/theirs"])
            let held = await #expect(throws: SkyrowError.self) {
                _ = try await delete(f, ["note/2", "note/1"], atomic: true)
            }
            #expect(held?.info.keys.sorted() == ["note/1"])
            #expect(try await f.query() == ["1", "2", "theirs"])
            // Two types that refer to each other go together.
            #expect(try await delete(f, ["note/1", "category/1", "note/2"], atomic: true) == [nil, nil, nil])
        }
    }

    @Test func deletingNeedsAUserAndItsDatabase() async throws {
        try await withRecords { f in
            try await f.save("note/1", [:], .ann, in: .user("ann"))
            for (scope, caller, code) in [
                (DatabaseScope.everyone, Caller.anonymous, ErrorCode.notAuthenticated),
                (.union, .master, .notSupported), (.user("ann"), .bob, .permissionDenied),
            ] {
                let error = await #expect(throws: SkyrowError.self) {
                    _ = try await delete(f, ["note/1"], caller, in: scope)
                }
                #expect(error?.code == code)
            }
            #expect(try await delete(f, ["note/1"]) == [.resourceNotFound])
            #expect(try await delete(f, ["note/1", "note/1"], in: .user("ann")) == [nil, nil])
            #expect(try await delete(f, ["user/ann"], .master) == [.permissionDenied])
        }
    }
}
