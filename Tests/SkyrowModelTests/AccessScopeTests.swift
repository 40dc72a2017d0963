import SkyrowModel
import SkyrowTestSupport
import Testing

/// One caller, one record, and whether the caller may read and write it.
struct AccessCase: Sendable {
    var caller: Caller
    var owner: UserID?
    var access: AccessList?
    var reads: Bool
    var writes: Bool
    /// The same as `writes` unless said otherwise.
    var deletes: Bool?
}

@Suite struct AccessScopeTests {
    static let ann = Caller(kind: .user("ann"))
    static let editor = Caller(kind: .user("bob"), roles: ["editor"])
    static let golfer = Caller(kind: .user("gil"), groups: ["chess", "golf"])
    static let master = Caller(kind: .master(actingAs: nil))

    static func list(_ entries: (Subject, AccessLevel)...) -> AccessList {
        AccessList(entries.map { AccessEntry($0.0, $0.1) })
    }

    static let publicRecords: [AccessCase] = [
        .init(caller: .anonymous, owner: "ann", access: nil, reads: true, writes: false),
        .init(caller: ann, owner: "ann", access: nil, reads: true, writes: true),
        .init(caller: editor, owner: "ann", access: nil, reads: true, writes: false),
        .init(caller: master, owner: "ann", access: nil, reads: true, writes: true),
        .init(caller: ann, owner: nil, access: nil, reads: true, writes: false),
        .init(caller: .anonymous, owner: "ann", access: list(), reads: false, writes: false),
        .init(caller: ann, owner: "ann", access: list(), reads: true, writes: true),
        .init(caller: editor, owner: "ann", access: list(), reads: false, writes: false),
        .init(caller: .anonymous, owner: "ann", access: list((.everyone, .read)), reads: true, writes: false),
        .init(caller: .anonymous, owner: "ann", access: list((.everyone, .write)), reads: true, writes: false),
        .init(caller: editor, owner: "ann", access: list((.everyone, .write)), reads: true, writes: true),
        .init(caller: editor, owner: "ann", access: list((.role("editor"), .read)), reads: true, writes: false),
        .init(caller: editor, owner: "ann", access: list((.role("editor"), .write)), reads: true, writes: true),
        .init(caller: editor, owner: "ann", access: list((.role("Editor"), .write)), reads: false, writes: false),
        .init(caller: editor, owner: "ann", access: list((.user("bob"), .read)), reads: true, writes: false),
        .init(caller: editor, owner: "ann", access: list((.user("carl"), .write)), reads: false, writes: false),
        .init(caller: editor, owner: "ann", access: list((.owner, .write)), reads: false, writes: false),
        .init(caller: editor, owner: "ann", access: list((.users, .read)), reads: true, writes: false),
        .init(caller: editor, owner: "ann", access: list((.users, .write)), reads: true, writes: true),
        .init(caller: .anonymous, owner: "ann", access: list((.users, .write)), reads: false, writes: false),
        .init(caller: editor, owner: "ann", access: list((.users, .update)), reads: true, writes: true, deletes: false),
        .init(
            caller: editor,
            owner: "ann",
            access: list((.role("editor"), .delete)),
            reads: true,
            writes: false,
            deletes: true
        ),
        .init(
            caller: editor,
            owner: "ann",
            access: list((.role("editor"), .update), (.user("bob"), .delete)),
            reads: true,
            writes: true
        ),
        .init(caller: .anonymous, owner: "ann", access: list((.everyone, .update)), reads: true, writes: false),
        .init(caller: editor, owner: "ann", access: list((.group("editor"), .write)), reads: false, writes: false),
        .init(caller: golfer, owner: "ann", access: list((.group("golf"), .write)), reads: true, writes: true),
        .init(caller: golfer, owner: "ann", access: list((.group("golf"), .read)), reads: true, writes: false),
        .init(caller: golfer, owner: "ann", access: list((.group("Golf"), .write)), reads: false, writes: false),
        .init(caller: golfer, owner: "ann", access: list((.role("golf"), .write)), reads: false, writes: false),
        .init(
            caller: editor.withKey("tablet"),
            owner: "ann",
            access: list((.apiKey("tablet"), .write)),
            reads: true,
            writes: true
        ),
        .init(
            caller: editor.withKey("tablet"),
            owner: "ann",
            access: list((.apiKey("tablet"), .read)),
            reads: true,
            writes: false
        ),
        .init(
            caller: editor.withKey("phone"),
            owner: "ann",
            access: list((.apiKey("tablet"), .write)),
            reads: false,
            writes: false
        ),
        .init(
            caller: editor.withKey("Tablet"),
            owner: "ann",
            access: list((.apiKey("tablet"), .write)),
            reads: false,
            writes: false
        ),
        .init(caller: editor, owner: "ann", access: list((.apiKey("tablet"), .write)), reads: false, writes: false),
        .init(
            caller: editor.withKey("golf"),
            owner: "ann",
            access: list((.group("golf"), .write)),
            reads: false,
            writes: false
        ),
        // To write takes a user.
        .init(
            caller: Caller.anonymous.withKey("tablet"),
            owner: "ann",
            access: list((.apiKey("tablet"), .write)),
            reads: true,
            writes: false
        ),
        .init(
            caller: Caller.anonymous.withKey("phone"),
            owner: "ann",
            access: list((.apiKey("tablet"), .read)),
            reads: false,
            writes: false
        ),
        .init(
            caller: Caller.anonymous.withKey("tablet"),
            owner: "ann",
            access: list((.users, .read)),
            reads: false,
            writes: false
        ),
        .init(caller: editor, owner: "ann", access: list((.relation(.friend), .write)), reads: false, writes: false),
        .init(
            caller: Caller(kind: .user("u"), roles: ["caf\u{E9}"]),
            owner: nil,
            access: list((.role("cafe\u{301}"), .write)),
            reads: false,
            writes: false
        ),
        .init(caller: Caller(kind: .user("\u{E9}")), owner: "e\u{301}", access: list(), reads: false, writes: false),
    ]

    @Test(arguments: publicRecords)
    func aPublicRecordAdmitsAsItsListSays(_ row: AccessCase) {
        for (action, admits) in [
            (AccessAction.read, row.reads), (.update, row.writes), (.delete, row.deletes ?? row.writes),
        ] {
            let scope = AccessScope(caller: row.caller, action: action, database: .everyone)
            #expect(scope.admits(database: .everyone, owner: row.owner, access: row.access) == admits, "\(action)")
        }
    }

    @Test(arguments: [
        (ann, DatabaseScope.user("ann"), true), (editor, .user("ann"), false), (.anonymous, .user("ann"), false),
        (master, .user("ann"), true),
    ])
    func aPrivateRecordAdmitsItsUserAlone(_ caller: Caller, _ database: DatabaseScope, _ admits: Bool) {
        for action in AccessAction.allCases {
            let scope = AccessScope(caller: caller, action: action, database: database)
            #expect(
                scope.admits(database: .user("ann"), owner: "ann", access: Self.list((.everyone, .write))) == admits
            )
            #expect(!scope.admits(database: .everyone, owner: "ann", access: nil))
            #expect(!scope.admits(database: .user("carl"), owner: "ann", access: nil))
        }
    }

    @Test func theUnionIsForTheMasterKeyToRead() {
        #expect(
            AccessScope(caller: Self.master, action: .read, database: .union)
                .admits(database: .user("ann"), owner: nil, access: nil)
        )
        #expect(
            !AccessScope(caller: Self.master, action: .update, database: .union)
                .admits(database: .everyone, owner: nil, access: nil)
        )
        #expect(
            !AccessScope(caller: Self.ann, action: .read, database: .union)
                .admits(database: .everyone, owner: nil, access: nil)
        )
    }

    @Test func idsAreTheSameWhenTheirBytesAre() throws {
        #expect(try RecordID("note/\u{E9}") != RecordID("note/e\u{301}"))
        #expect(Set([try RecordID("note/\u{E9}"), try RecordID("note/e\u{301}")]).count == 2)
        #expect(DatabaseScope.user("\u{E9}") != .user("e\u{301}"))
        #expect(try RecordID("note/a/b").id == "a/b")
    }

    @Test(arguments: ["a/b", "a\u{0}", "_x", String(repeating: "x", count: 256)])
    func whatCannotBeAUserIDNamesNoDatabase(_ name: String) {
        #expect(throws: SkyrowError.self) { try DatabaseName(name) }
    }
}
