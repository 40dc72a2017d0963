import SkyrowModel
import SkyrowProtocol
import Testing

@testable import SkyrowActions

/// Every need with every kind of caller.
@Suite struct FunctionNeedTests {
    static let callers: [(name: String, caller: Caller, hasCredentials: Bool)] = [
        ("nobody", .anonymous, false),
        ("key", .anonymous, true),
        ("user", Caller(kind: .user("ann")), true),
        ("editor", Caller(kind: .user("eve"), roles: ["editor"]), true),
        ("administrator", Caller(kind: .user("root"), roles: ["Admin"], isAdministrator: true), true),
        ("master", Caller(kind: .master(actingAs: nil)), true),
        ("acting master", Caller(kind: .master(actingAs: "ann")), true),
    ]

    /// In the order of the callers; nil where the call is granted.
    static let rows: [(need: FunctionNeed, codes: [Int?])] = [
        (.nothing, [nil, nil, nil, nil, nil, nil, nil]),
        (.key, [101, nil, nil, nil, nil, nil, nil]),
        (.user, [101, 101, nil, nil, nil, 101, nil]),
        (.roles(["editor", "author"]), [101, 101, 102, nil, 102, nil, nil]),
        (.administrator, [101, 101, 102, 102, nil, nil, nil]),
        (.master, [101, 102, 102, 102, 102, nil, nil]),
    ]

    @Test func aNeedGrantsAndRefuses() {
        for row in Self.rows {
            for (column, code) in zip(Self.callers, row.codes) {
                var found: Int?
                do throws(SkyrowError) {
                    try row.need.check(column.caller, hasCredentials: column.hasCredentials)
                } catch {
                    found = error.code.rawValue
                }
                #expect(found == code, "\(row.need) \(column.name)")
            }
        }
    }

    /// The check of credentials lets in all that the need does, and the need of roles is stricter.
    @Test func theRequirementOfAnActionFollows() {
        let rows: [(FunctionNeed, ActionRequirement)] = [
            (.nothing, .nothing), (.key, .keyOrToken), (.user, .user), (.roles(["editor"]), .userOrMaster),
            (.administrator, .administrator), (.master, .master),
        ]
        for (need, requirement) in rows {
            #expect(need.requirement == requirement)
            #expect(need.description(isReadOnly: false).requirement == requirement)
            #expect(need.description(isReadOnly: false).name == Actions.functionCall.name)
            #expect(need.description(isReadOnly: true).effect == .reads)
        }
    }
}
