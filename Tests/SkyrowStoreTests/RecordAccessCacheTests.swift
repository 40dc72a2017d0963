import SkyrowModel
import Testing

@testable import SkyrowStore

@Suite struct RecordAccessCacheTests {
    private let cache = RecordAccessCache()

    private func caller(_ user: UserID, _ roles: [RoleName] = []) -> Caller {
        Caller(kind: .user(user), roles: roles)
    }

    @Test func whatAUserMayDoIsSettledOnceForEachDatabaseAndUse() throws {
        let ann = caller("ann", ["editor"])
        var seen: [RecordAccess] = []
        for database in [DatabaseName.everyone, .own] {
            for use in [RecordAccess.Use.reading, .writing] {
                let access = try cache.access(to: database, for: use, by: ann)
                #expect(try cache.access(to: database, for: use, by: ann) === access)
                #expect(access.database == (database == .own ? .user("ann") : .everyone))
                #expect(access.mayWrite == (use == .writing))
                if database == .everyone {
                    let audience = Audience(user: "ann", roles: ["editor"])
                    #expect(access.standard.read.audience == audience)
                    #expect(access.standard.read.condition.terms == [[.unlisted, .owner, .listed(.read)]])
                }
                #expect(!seen.contains { $0 === access })
                seen.append(access)
            }
        }
    }

    @Test func otherUsersAndRolesHaveTheirOwn() throws {
        let access = try cache.access(to: .everyone, for: .reading, by: caller("ann", ["editor"]))
        let other = try cache.access(to: .everyone, for: .reading, by: caller("bob", ["editor"]))
        #expect(other.actor == "bob")
        let promoted = try cache.access(to: .everyone, for: .reading, by: caller("ann", ["editor", "admin"]))
        #expect(promoted !== access)
        #expect(
            promoted.standard.read
                == AccessScope(caller: caller("ann", ["editor", "admin"]), action: .read, database: .everyone)
        )
        #expect(try cache.access(to: .everyone, for: .reading, by: caller("ann", ["editor", "admin"])) === promoted)
    }

    @Test func theMasterKeyAndCallersWithoutAUserAreNotMistaken() throws {
        let ann = try cache.access(to: .everyone, for: .writing, by: caller("ann"))
        let master = try cache.access(to: .everyone, for: .writing, by: Caller(kind: .master(actingAs: "ann")))
        #expect(!ann.passesEveryRule)
        #expect(master.passesEveryRule)
        #expect(master.actor == "ann")
        #expect(throws: SkyrowError.self) { try cache.access(to: .everyone, for: .writing, by: .anonymous) }
        #expect(try cache.access(to: .everyone, for: .reading, by: .anonymous).actor == nil)
        #expect(throws: SkyrowError.self) { try cache.access(to: .user("bob"), for: .reading, by: caller("ann")) }
    }
}
