import SkyrowModel
import Testing

/// Who may do what with a role, as rows: the one rule of roles.
@Suite struct RoleStandingTests {
    struct Row: Sendable, CustomTestStringConvertible {
        var caller: Caller
        var access: AccessList?
        var owner: UserID?
        var isDefault = false
        var isAdministrators = false
        var makesAdministrators = false
        var allowed: Set<RoleAction>

        var testDescription: String { "\(caller.kind), \(caller.roles), \(allowed.count)" }
    }

    private static let ann = Caller(kind: .user("ann"), roles: ["chief"], groups: ["golf"])
    private static let boss = Caller(kind: .user("boss"), roles: ["Admin"], isAdministrator: true)
    private static let master = Caller(kind: .master(actingAs: nil))
    private static let all = Set(RoleAction.allCases)

    private static func list(_ entries: (Subject, AccessLevel)...) -> AccessList {
        AccessList(entries.map { AccessEntry($0.0, $0.1) })
    }

    static let rows: [Row] = [
        // Without a list it is for administrators alone, its owner included.
        Row(caller: ann, owner: "ann", allowed: []),
        Row(caller: .anonymous, access: list((.everyone, .write)), allowed: []),
        Row(caller: boss, allowed: all),
        Row(caller: master, allowed: all),
        // An empty list leaves the owner.
        Row(caller: ann, access: list(), owner: "ann", allowed: all),
        Row(caller: ann, access: list(), owner: "bob", allowed: []),
        Row(caller: ann, access: list(), allowed: []),
        // Each level, by each kind of subject.
        Row(caller: ann, access: list((.user("ann"), .read)), allowed: [.read]),
        Row(caller: ann, access: list((.role("chief"), .update)), allowed: [.read, .changeMembers]),
        Row(caller: ann, access: list((.group("golf"), .delete)), allowed: [.read, .delete]),
        Row(caller: ann, access: list((.users, .write)), allowed: [.read, .changeMembers, .delete]),
        Row(caller: ann, access: list((.everyone, .read)), allowed: [.read]),
        Row(caller: ann, access: list((.group("chess"), .write), (.role("Chief"), .write)), allowed: []),
        // What makes administrators is for those, whatever the list.
        Row(
            caller: ann,
            access: list((.user("ann"), .write)),
            owner: "ann",
            isAdministrators: true,
            makesAdministrators: true,
            allowed: [.read, .changeAccess]
        ),
        Row(caller: ann, access: list((.user("ann"), .write)), makesAdministrators: true, allowed: [.read]),
        Row(caller: ann, access: list((.user("ann"), .write)), isDefault: true, allowed: [.read, .changeMembers]),
        Row(
            caller: boss,
            isAdministrators: true,
            makesAdministrators: true,
            allowed: [.read, .changeMembers, .changeAccess]
        ),
        Row(caller: boss, isDefault: true, allowed: [.read, .changeMembers, .changeAccess]),
        Row(caller: boss, makesAdministrators: true, allowed: all),
        Row(caller: master, isDefault: true, isAdministrators: true, makesAdministrators: true, allowed: all),
    ]

    @Test(arguments: rows)
    func theListOfARoleSaysWhoDoesWhat(_ row: Row) {
        let role = Role(
            name: "r",
            access: row.access,
            owner: row.owner,
            isDefault: row.isDefault,
            isAdministrators: row.isAdministrators
        )
        let standing = RoleStanding(role, makesAdministrators: row.makesAdministrators)
        for action in RoleAction.allCases {
            #expect(standing.allows(action, by: row.caller) == row.allowed.contains(action), "\(action)")
            let error = Result { () throws(SkyrowError) in try standing.require(action, by: row.caller) }.failure
            let expected: ErrorCode? =
                row.allowed.contains(action) ? nil : row.allowed.contains(.read) ? .permissionDenied : .resourceNotFound
            #expect(error?.code == expected, "\(action)")
        }
    }

    @Test(
        arguments: [
            ("administrators", []), ("self:golf", ["golf"]), ("self:golf,chess", ["golf", "chess"]), ("self:", nil),
            ("", nil), ("self:golf,", nil), ("Administrators", nil), ("golf", nil),
            ("self:" + String(repeating: "x", count: 65), nil),
        ] as [(String, Set<GroupName>?)]
    )
    func aRuleOfGroupsIsRead(_ text: String, _ own: Set<GroupName>?) {
        #expect(GroupRule(text)?.own == own)
    }

    @Test(
        arguments: [
            (ann, "ann", ["golf"], nil), (ann, "ann", [], nil), (ann, "ann", ["golf", "chess"], .permissionDenied),
            (ann, "bob", ["golf"], .permissionDenied), (ann, "bob", [], .permissionDenied),
            (boss, "bob", ["chess"], nil), (master, "bob", ["chess"], nil),
            (.anonymous, "ann", ["golf"], .notAuthenticated),
        ] as [(Caller, UserID, [GroupName], ErrorCode?)]
    )
    func aRuleOfGroupsSaysWhoChangesThem(_ caller: Caller, _ user: UserID, _ groups: [GroupName], _ code: ErrorCode?) {
        let rule = GroupRule(own: ["golf"])
        let error = Result { () throws(SkyrowError) in try rule.require(groups, of: user, by: caller) }.failure
        #expect(error?.code == code)
        if groups.count == 2 { #expect(error?.path == "groups[1]") }
    }
}

extension Result {
    fileprivate var failure: Failure? {
        switch self {
        case .success: nil
        case .failure(let error): error
        }
    }
}
