import SkyrowModel
import Testing

@Suite struct TypeRulesTests {
    private static let username = try! FieldName("username")
    private static let profiles = TypeRules.ofProfiles(loginKeys: [username])

    /// A draft, its database, and whether a profile of this kind can be saved.
    static let saves: [(id: String, SavePrecondition?, DatabaseScope, passes: Bool)] = [
        ("user/ann", nil, .everyone, true), ("user/ann", .revision(1), .everyone, true),
        ("user/ann", .isNew, .everyone, false), ("user/$1", nil, .everyone, false),
        ("user/ann", nil, .user("ann"), false), ("user/ann", .revision(1), .user("ann"), false),
        ("user/ann", nil, .union, false),
    ]

    @Test(arguments: saves)
    func profilesAreMadeByAccountsAndArePublic(
        _ id: String,
        _ precondition: SavePrecondition?,
        _ database: DatabaseScope,
        _ passes: Bool
    ) throws {
        let draft = RecordDraft(id: try RecordID(id), precondition: precondition)
        let refusal = Self.profiles.refusal(saving: draft, in: database)
        #expect(refusal?.code == (passes ? nil : .permissionDenied))
        #expect(TypeRules.none.refusal(saving: draft, in: database) == nil)
    }

    @Test func profilesGoWithTheirAccounts() {
        #expect(Self.profiles.refusalOfDeleting?.code == .permissionDenied)
        #expect(TypeRules.none.refusalOfDeleting == nil)
    }

    @Test func aTypeHasTheRulesOfItsName() throws {
        let user = TypeRules.builtIn(.user)
        #expect(user.origin == .accounts && user.isPublicOnly && user.requiredFields.contains(Self.username))
        #expect(TypeRules.builtIn(try RecordTypeName("note")) == .none)
        #expect(Self.profiles.fields == .ofLoginKeys([Self.username]) && Self.profiles.loginKeys == [Self.username])
    }
}
