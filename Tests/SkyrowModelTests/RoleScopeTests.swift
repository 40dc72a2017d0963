import SkyrowTestSupport
import Testing

@testable import SkyrowModel

/// Roles as records admit those whom roles admit.
@Suite struct RoleScopeTests {
    private static let lists: [AccessList?] = [
        nil, AccessList([]), AccessList([AccessEntry(.users, .read)]), AccessList([AccessEntry(.user("bob"), .update)]),
        AccessList([AccessEntry(.role("crew"), .delete)]), AccessList([AccessEntry(.group("golf"), .write)]),
        AccessList([AccessEntry(.registered, .read)]), AccessList([AccessEntry(.verified, .read)]),
        AccessList([AccessEntry(.everyone, .read)]), AccessList([AccessEntry(.role("other"), .read)]),
        AccessList([AccessEntry(.apiKey("tablet"), .read)]),
    ]

    private static let callers: [Caller] = [
        Caller(kind: .user("ann")), Caller(kind: .user("bob"), isRegistered: true),
        Caller(kind: .user("carl"), roles: ["crew"]), Caller(kind: .user("dora"), groups: ["golf"], isVerified: true),
        Caller(kind: .user("fay")).withKey("tablet"), Caller(kind: .user("fay")).withKey("phone"),
        Caller(kind: .user("eve"), roles: ["Admin"], isAdministrator: true), Caller(kind: .master(actingAs: nil)),
        Caller(kind: .master(actingAs: "ann")),
    ]

    private func scope(of caller: Caller, in database: DatabaseScope = .everyone) -> TypeAccess {
        RecordAccess(in: database, for: .writing, by: caller).of(.ofRoles)
    }

    @Test func theScopeOfRolesIsWhatTheyAllow() {
        var admitted = 0
        var count = 0
        for caller in Self.callers {
            let access = scope(of: caller)
            if !caller.isMaster { #expect(access.update.isEmpty && access.delete.isEmpty && !access.mayCreate) }
            for list in Self.lists {
                for owner in [nil, "ann", "bob"] as [UserID?] {
                    let role = RoleStanding(Role(name: "x", access: list, owner: owner), makesAdministrators: false)
                    let allows = role.allows(.read, by: caller)
                    let admits = access.read.admits(database: .everyone, owner: owner, access: list)
                    #expect(admits == allows, "\(caller) \(String(describing: list)) \(String(describing: owner))")
                    admitted += admits ? 1 : 0
                    count += 1
                }
            }
        }
        // Both are asked often enough.
        #expect(admitted > count / 4 && admitted < count * 3 / 4)
    }

    @Test func withoutALoginTheListsForAllAdmit() {
        let read = scope(of: .anonymous).read
        for list in Self.lists {
            let isForAll = list?.entries.contains { $0.subject == .everyone } ?? false
            #expect(read.admits(database: .everyone, owner: "ann", access: list) == isForAll)
        }
    }

    @Test func aPrivateDatabaseHasNone() {
        let read = scope(of: Caller(kind: .user("ann")), in: .user("ann")).read
        for list in Self.lists { #expect(!read.admits(database: .everyone, owner: "ann", access: list)) }
    }
}
