import SkyrowModel
import Testing

/// What opening a database comes to, for each kind of caller and database.
@Suite struct RecordAccessTests {
    static let ann = Caller(kind: .user("ann"), roles: ["editor"])
    static let master = Caller(kind: .master(actingAs: nil))
    static let masterAsAnn = Caller(kind: .master(actingAs: "ann"))

    /// A caller, a database, the scope or refusal of a request that reads, and of one that writes.
    static let rows: [(Caller, DatabaseName, reading: Opening, writing: Opening)] = [
        (.anonymous, .everyone, .opens(.everyone), .refuses(.notAuthenticated, "Log in first.")),
        (.anonymous, .own, .refuses(.notAuthenticated, logInForOwn), .refuses(.notAuthenticated, "Log in first.")),
        (.anonymous, .user("ann"), .refuses(.permissionDenied, another), .refuses(.notAuthenticated, "Log in first.")),
        (.anonymous, .union, .refuses(.notAuthenticated, union), .refuses(.notAuthenticated, "Log in first.")),
        (ann, .everyone, .opens(.everyone), .opens(.everyone)),
        (ann, .own, .opens(.user("ann")), .opens(.user("ann"))),
        (ann, .user("ann"), .opens(.user("ann")), .opens(.user("ann"))),
        (ann, .user("bob"), .refuses(.permissionDenied, another), .refuses(.permissionDenied, another)),
        (ann, .union, .refuses(.notAuthenticated, union), .refuses(.notAuthenticated, union)),
        (master, .everyone, .opens(.everyone), .opens(.everyone)),
        (master, .own, .refuses(.notAuthenticated, logInForOwn), .refuses(.notAuthenticated, logInForOwn)),
        (master, .user("bob"), .opens(.user("bob")), .opens(.user("bob"))),
        (master, .union, .opens(.union), .refuses(.notSupported, "The database _union is read-only.")),
        (masterAsAnn, .own, .opens(.user("ann")), .opens(.user("ann"))),
        (masterAsAnn, .user("bob"), .opens(.user("bob")), .opens(.user("bob"))),
        (
            Caller(kind: .user("\u{E9}")), .user("e\u{301}"), .refuses(.permissionDenied, another),
            .refuses(.permissionDenied, another)
        ),
    ]

    private static let logInForOwn = "Log in to use your private database."
    private static let another = "This database belongs to another user."
    private static let union = "The database _union requires the master key."

    enum Opening: Equatable, Sendable {
        case opens(DatabaseScope)
        case refuses(ErrorCode, String)
    }

    private func opening(_ name: DatabaseName, _ use: RecordAccess.Use, _ caller: Caller) -> Opening {
        do throws(SkyrowError) {
            let access = try RecordAccess(opening: name, for: use, by: caller)
            #expect(access.mayWrite == (use == .writing), "\(caller) \(name)")
            return .opens(access.database)
        } catch {
            return .refuses(error.code, error.message)
        }
    }

    @Test(arguments: rows)
    func aDatabaseOpensOrSaysWhyNot(_ caller: Caller, _ name: DatabaseName, _ reading: Opening, _ writing: Opening) {
        #expect(opening(name, .reading, caller) == reading)
        #expect(opening(name, .writing, caller) == writing)
    }

    /// A caller, a database, the signer and the owner of a new record, and whether there may be hidden ones.
    static let writes: [(Caller, DatabaseScope, UserID?, UserID?, Bool)] = [
        (ann, .everyone, "ann", "ann", true), (ann, .user("ann"), "ann", "ann", false),
        (master, .everyone, nil, nil, false), (master, .user("bob"), nil, "bob", false),
        (masterAsAnn, .everyone, "ann", "ann", false), (masterAsAnn, .user("bob"), "ann", "bob", false),
        (.anonymous, .everyone, nil, nil, true),
    ]

    @Test(arguments: writes)
    func whatIsWrittenHasItsSignerAndItsOwner(
        _ caller: Caller,
        _ scope: DatabaseScope,
        _ actor: UserID?,
        _ owner: UserID?,
        _ hides: Bool
    ) {
        let access = RecordAccess(in: scope, for: .writing, by: caller)
        #expect(access.actor == actor && access.newOwner == owner)
        #expect(access.hidesRecords == hides && access.passesEveryRule == caller.isMaster)
    }

    @Test func privateRecordsMayReferToPublicOnesThatTheirUserReads() {
        let access = RecordAccess(in: .user("ann"), for: .writing, by: Self.ann)
        #expect(access.standard.shared.admits(database: .everyone, owner: nil, access: nil))
        #expect(!access.standard.shared.admits(database: .everyone, owner: "bob", access: AccessList([])))
        #expect(!access.standard.shared.admits(database: .user("ann"), owner: "ann", access: nil))
        #expect(access.standard.read.admits(database: .user("ann"), owner: "ann", access: nil))
        let everyone = RecordAccess(in: .everyone, for: .reading, by: Self.ann)
        #expect(everyone.standard.shared == everyone.standard.read && !everyone.mayWrite)
    }

    @Test func ofADatabaseThatIsNotOpenNothingIsSeen() {
        for (caller, scope) in [(Self.ann, DatabaseScope.user("bob")), (.anonymous, .user("ann")), (Self.ann, .union)] {
            let access = RecordAccess(in: scope, for: .writing, by: caller)
            #expect(access.standard.read.isEmpty && !access.mayWrite)
        }
    }
}
