import SkyrowModel
import Testing

/// Users and roles are the same when the bytes of their names are, wherever names are compared.
@Suite struct UserIDTests {
    /// Two texts, and whether they name one user and one role.
    static let pairs: [(String, String, Bool)] = [
        ("ann", "ann", true), ("ann", "Ann", false), ("", "", true), ("a", "", false),
        ("\u{E9}", "\u{E9}", true), ("\u{E9}", "e\u{301}", false), ("\u{212B}", "\u{C5}", false),
        ("\u{1100}\u{1161}", "\u{AC00}", false), ("a\u{0}", "a", false),
        ("6ba7b810-9dad-41d1-80b4-00c04fd430c8", "6ba7b810-9dad-41d1-80b4-00c04fd430c8", true),
        ("6ba7b810-9dad-41d1-80b4-00c04fd430c8", "6ba7b810-9dad-41d1-80b4-00c04fd430c9", false),
    ]

    @Test(arguments: pairs)
    func theBytesDecide(_ a: String, _ b: String, _ isSame: Bool) {
        #expect((UserID(a) == UserID(b)) == isSame && (RoleName(a) == RoleName(b)) == isSame)
        #expect(Set([UserID(a), UserID(b)]).count == (isSame ? 1 : 2))
        #expect(Set([RoleName(a), RoleName(b)]).count == (isSame ? 1 : 2))
        #expect((UserID(a) < UserID(b) || UserID(b) < UserID(a)) == !isSame)
        #expect((RoleName(a) < RoleName(b) || RoleName(b) < RoleName(a)) == !isSame)
        #expect((DatabaseScope.user(UserID(a)) == .user(UserID(b))) == isSame)
        #expect((DatabaseName.user(UserID(a)) == .user(UserID(b))) == isSame)
        #expect((FieldAccess.user(UserID(a)) == .user(UserID(b))) == isSame)
        #expect((Subject.user(UserID(a)) == .user(UserID(b))) == isSame)
        #expect(
            (GroupName(a) == GroupName(b)) == isSame && Set([GroupName(a), GroupName(b)]).count == (isSame ? 1 : 2)
        )
        #expect((Subject.role(RoleName(a)) == .role(RoleName(b))) == isSame)
        let audience = Audience(user: UserID(a), roles: [RoleName(a)])
        #expect(audience.includes(.user(UserID(b))) == isSame && audience.includes(.role(RoleName(b))) == isSame)
    }

    @Test func anAccessListNamesUsersByTheirBytes() {
        let composed = AccessList([AccessEntry(.user("\u{E9}"), .read), AccessEntry(.role("\u{E9}"), .write)])
        let decomposed = AccessList([AccessEntry(.user("e\u{301}"), .read), AccessEntry(.role("e\u{301}"), .write)])
        #expect(!composed.isSame(as: decomposed) && composed != decomposed)
        #expect(composed.isSame(as: AccessList(composed.entries.reversed())))
    }

    @Test func theirOrderIsThatOfTheirBytes() {
        let names = ["z", "a", "\u{10000}", "\u{E000}", "Z", "", "aa"]
        let sorted = ["", "Z", "a", "aa", "z", "\u{E000}", "\u{10000}"]
        #expect(names.map { UserID($0) }.sorted().map(\.rawValue) == sorted)
        #expect(names.map { RoleName($0) }.sorted().map(\.rawValue) == sorted)
        #expect("\(UserID("ann")) \(RoleName("editor"))" == "ann editor")
    }

    @Test(
        arguments: [
            ("ann", true), ("a~_", true), (String(repeating: "a", count: 255), true), ("", false), ("a\u{0}", false),
            (String(repeating: "a", count: 256), false), ("_ann", false), ("~ann", false), ("a/b", false),
        ]
    )
    func oneRuleSaysWhichIdsAccountsHave(_ text: String, _ fits: Bool) {
        #expect(UserID(text).fitsAccount == fits)
        #expect((DeletedUserRules("transfer:\(text)") != nil) == fits)
        // Without a name, a request means the shared database.
        guard !text.isEmpty else { return }
        #expect(((try? DatabaseName(text)) == .user(UserID(text))) == fits)
    }
}
