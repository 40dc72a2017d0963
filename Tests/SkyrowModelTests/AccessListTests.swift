import SkyrowModel
import Testing

/// Lists, subjects and audiences as values.
@Suite struct AccessListTests {
    @Test(
        arguments: [
            ("public", .everyone), ("users", .users), ("registered", .registered), ("verified", .verified),
            ("owner", .owner), ("user:u1", .user("u1")), ("role:a:b", .role("a:b")), ("group:", .group("")),
            ("role:\u{301}", .role("\u{301}")), ("relation:friend", .relation(.friend)),
            ("key:tablet", .apiKey("tablet")), ("key:a:b", .apiKey("a:b")), ("key", nil), ("keys:a", nil),
            ("relation:follower", .relation(.follower)), ("relation:followed", .relation(.followed)),
            ("", nil), ("user", nil), ("Public", nil), ("public:", nil), ("users:a", nil), ("relation:foe", nil),
            ("user_id:u1", nil), ("field:", nil), ("field:_x", nil), (":", nil), ("role\u{301}:a", nil),
        ] as [(String, Subject?)]
    )
    func aSubjectHasAKey(_ key: String, _ subject: Subject?) {
        #expect(Subject(key: key) == subject)
        if let subject { #expect(Array(subject.key.utf8) == Array(key.utf8)) }
    }

    @Test func aFieldIsASubjectOfRules() throws {
        let field = Subject.field(try FieldName("members"))
        #expect(field.key == "field:members" && Subject(key: "field:members") == field)
    }

    @Test(arguments: [
        (AccessLevel.read, [true, false, false]), (.update, [true, true, false]), (.delete, [true, false, true]),
        (.write, [true, true, true]),
    ])
    func aLevelAllowsActions(_ level: AccessLevel, _ allowed: [Bool]) {
        #expect(AccessAction.allCases.map { level.allows($0) } == allowed)
    }

    @Test func twoLevelsAreOneThatAllowsBoth() {
        for first in AccessLevel.allCases {
            for second in AccessLevel.allCases {
                let list = AccessList([AccessEntry(.everyone, first), AccessEntry(.everyone, second)])
                #expect(list.entries.count == 1)
                for action in AccessAction.allCases {
                    let allows = first.allows(action) || second.allows(action)
                    #expect(list.entries[0].level.allows(action) == allows, "\(first) \(second) \(action)")
                }
            }
        }
    }

    @Test func aListIsASetInOneOrder() {
        let sorted: [AccessEntry] = [
            AccessEntry(.everyone, .read), AccessEntry(.users, .read), AccessEntry(.registered, .read),
            AccessEntry(.verified, .read), AccessEntry(.owner, .read), AccessEntry(.user("a"), .read),
            AccessEntry(.user("b"), .read), AccessEntry(.role("Z"), .write), AccessEntry(.role("a"), .read),
            AccessEntry(.group("a"), .read), AccessEntry(.apiKey("Z"), .read), AccessEntry(.apiKey("a"), .write),
            AccessEntry(.relation(.followed), .read),
            AccessEntry(.relation(.follower), .read), AccessEntry(.relation(.friend), .read),
        ]
        #expect(AccessList(sorted.reversed()).entries == sorted)
        #expect(AccessList(sorted + sorted) == AccessList(sorted))
        let others = sorted.filter { $0.subject != .owner }
        #expect(AccessList(sorted).isSame(as: AccessList(others)) && AccessList(sorted) != AccessList(others))
        #expect(!AccessList(others).isSame(as: AccessList(Array(others.dropLast()))))
    }

    @Test(arguments: [
        (Audience(user: nil), #"{"public"}"#), (Audience(user: nil, roles: ["a"]), #"{"public"}"#),
        (Audience(user: "ann"), #"{"public","user:ann","users"}"#),
        (Audience(user: nil, isRegistered: true), #"{"public"}"#),
        (
            Audience(user: "ann", roles: ["a"], groups: ["golf"], isRegistered: true),
            #"{"group:golf","public","registered","role:a","user:ann","users"}"#
        ),
        (Audience(user: nil, isVerified: true), #"{"public"}"#),
        (Audience(user: nil, keyName: "tablet"), #"{"key:tablet","public"}"#),
        (
            Audience(user: "ann", groups: ["golf"], keyName: "a\"b"),
            #"{"group:golf","key:a\"b","public","user:ann","users"}"#
        ),
        (
            Audience(user: "ann", isRegistered: true, isVerified: true),
            #"{"public","registered","user:ann","users","verified"}"#
        ),
        (Audience(user: "ann", roles: ["b", "a", "B"]), #"{"public","role:B","role:a","role:b","user:ann","users"}"#),
        (Audience(user: "a\"b\\c", roles: ["{,}", "a\u{0}"]), #"{"public","role:{,}","user:a\"b\\c","users"}"#),
    ])
    func anAudienceIsAnArrayOfKeys(_ audience: Audience, _ text: String) {
        #expect(audience.text == text)
    }
}
