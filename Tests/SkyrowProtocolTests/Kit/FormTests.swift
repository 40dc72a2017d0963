import SkyrowModel
import SkyrowTestSupport
import Testing

@testable import SkyrowJSON
@testable import SkyrowProtocol

/// What forms and codecs read and refuse, and that they write what they read.
@Suite struct FormTests {
    struct Row: Sendable, CustomTestStringConvertible {
        let json: String
        /// What is written of the value; the same text unless it is given.
        var written: String?
        var code: ErrorCode?
        var argument = ""
        var path: String?

        var testDescription: String { String(json.prefix(100)) }
    }

    private static let long = String(repeating: "x", count: 65)
    private static let users = "[" + (0...10_000).map { "\"u\($0)\"" }.joined(separator: ",") + "]"
    private static let roles = "[" + (0...100).map { "\"r\($0)\"" }.joined(separator: ",") + "]"

    static let changes = [
        Row(json: #"{"role":"a","users":["u"],"roles":["b"]}"#),
        Row(json: #"{"role":"a"}"#),
        Row(json: #"{"role":"a","users":null,"roles":[]}"#, written: #"{"role":"a"}"#),
        Row(json: #"{"role":"\#(long.dropLast())"}"#),
        // The keys of a request beside the parameters are refused elsewhere.
        Row(json: #"{"roles":["b"],"role":"a","more":1}"#, written: #"{"role":"a","roles":["b"]}"#),
        Row(json: "{}", code: .invalidArgument, argument: "role"),
        Row(json: #"{"role":null}"#, code: .invalidArgument, argument: "role"),
        Row(json: #"{"role":""}"#, code: .invalidArgument, argument: "role"),
        Row(json: #"{"role":"\#(long)"}"#, code: .invalidArgument, argument: "role"),
        Row(json: #"{"role":"a\u0000"}"#, code: .invalidArgument, argument: "role"),
        Row(json: #"{"role":1}"#, code: .badRequest, argument: "role"),
        Row(json: #"{"role":"a","users":"u"}"#, code: .badRequest, argument: "users"),
        Row(json: #"{"role":"a","users":["u",1]}"#, code: .badRequest, argument: "users", path: "users[1]"),
        Row(json: #"{"role":"a","users":[""]}"#, code: .invalidArgument, argument: "users", path: "users[0]"),
        Row(json: #"{"role":"a","users":\#(users)}"#, code: .invalidArgument, argument: "users"),
        Row(json: #"{"role":"a","roles":\#(roles)}"#, code: .invalidArgument, argument: "roles"),
    ]

    static let saves = [
        Row(json: #"{"name":"a"}"#),
        Row(json: #"{"name":"a","access":null,"by_default":false,"is_admin":true,"force":true}"#),
        Row(json: #"{"name":"a","access":[{"public":true,"level":"read"}]}"#),
        Row(json: #"{"name":"a","force":false,"is_admin":null}"#, written: #"{"name":"a"}"#),
        Row(json: #"{"name":"a","force":"yes"}"#, code: .badRequest, argument: "force"),
        Row(
            json: #"{"name":"a","access":[{"public":true}]}"#,
            code: .invalidArgument,
            argument: "access",
            path: "access[0]"
        ),
        Row(json: #"{"name":"a","access":"public"}"#, code: .invalidArgument, argument: "access", path: "access"),
    ]

    static let pages = [
        Row(json: #"{"role":"a","limit":1,"after":"x"}"#),
        Row(json: #"{"role":"a","limit":100}"#, written: #"{"role":"a"}"#),
        Row(json: #"{"role":"a","limit":0}"#, code: .invalidArgument, argument: "limit"),
        Row(json: #"{"role":"a","limit":1001}"#, code: .invalidArgument, argument: "limit"),
        Row(json: #"{"role":"a","limit":1.5}"#, code: .invalidArgument, argument: "limit"),
        Row(json: #"{"role":"a","limit":"1"}"#, code: .badRequest, argument: "limit"),
        Row(json: #"{"role":"a","after":"\u0000"}"#, code: .invalidArgument, argument: "after"),
    ]

    @Test(arguments: changes) func parametersOfAChange(_ row: Row) throws { try check(Actions.roleAdd.parameters, row) }

    @Test(arguments: saves) func parametersOfASave(_ row: Row) throws { try check(Actions.roleSave.parameters, row) }

    @Test(arguments: pages) func parametersOfAPage(_ row: Row) throws { try check(Actions.roleMembers.parameters, row) }

    func check<Root>(_ form: Form<Root>, _ row: Row) throws {
        guard let code = row.code else {
            let value = try readJSON(row.json) { try form.read($0) }
            #expect(writtenJSON { form.write(value, $0) } == row.written ?? row.json)
            return
        }
        let error = try refusal(row.json) { try form.read($0) }
        #expect(error?.code == code)
        #expect(error?.arguments == [row.argument])
        #expect(error?.path == row.path)
    }

    /// Values that the process makes are bound by the same rules.
    @Test func aValueOfTheProcessIsChecked() throws {
        let form = Actions.roleAdd.parameters
        let fit = RoleChange(role: "a", users: ["u"], roles: ["b"])
        #expect(try form.checked(fit).users == ["u"])
        for unfit in [
            RoleChange(role: RoleName(Self.long)), RoleChange(role: "a\0"), RoleChange(role: "a", users: [""]),
        ] {
            let error = #expect(throws: SkyrowError.self) { try form.checked(unfit) }
            #expect(error?.code == .invalidArgument)
        }
    }

    /// What OpenRPC says of a parameter is what its reader does: the greatest value that the shape has is read, and no greater one.
    @Test(arguments: [
        Actions.roleSave.description, Actions.roleAdd.description, Actions.roleMembers.description,
        Actions.roleAssign.description, Actions.groupAdd.description,
    ])
    func boundsOfTheShapeAreThoseOfTheReader(_ action: ActionDescription) throws {
        let required = action.parameters.filter(\.isRequired).map { ($0.name, text(of: $0.shape, beyond: 0)) }
        for parameter in action.parameters {
            guard let over = text(of: parameter.shape, beyond: 1), let most = text(of: parameter.shape, beyond: 0)
            else {
                continue
            }
            for (value, isRead) in [(most, true), (over, false)] {
                let members = required.filter { $0.0 != parameter.name } + [(parameter.name, value)]
                let json = "{" + members.map { "\"\($0.0)\":\($0.1 ?? "[]")" }.joined(separator: ",") + "}"
                let error = try readJSON(json) { root in
                    Result { () throws(SkyrowError) in try read(action.name, root) }.failure
                }
                #expect((error == nil) == isRead, "\(parameter.name)")
            }
        }
    }

    private func read(_ action: ActionName, _ json: JSONView) throws(SkyrowError) {
        switch action {
        case Actions.roleSave.name: _ = try Actions.roleSave.parameters.read(json)
        case Actions.roleAdd.name: _ = try Actions.roleAdd.parameters.read(json)
        case Actions.roleMembers.name: _ = try Actions.roleMembers.parameters.read(json)
        case Actions.roleAssign.name: _ = try Actions.roleAssign.parameters.read(json)
        default: _ = try Actions.groupAdd.parameters.read(json)
        }
    }

    /// The greatest value of a shape, and one more; nil for a shape without a bound.
    private func text(of shape: JSONShape, beyond more: Int) -> String? {
        switch shape {
        case .nullable(let shape): text(of: shape, beyond: more)
        case .string(let maximum?): "\"\(String(repeating: "x", count: maximum + more))\""
        case .integer(_, let maximum?): "\(maximum + more)"
        case .array(.string, _, let maximum?):
            "[" + repeatElement("\"x\"", count: maximum + more).joined(separator: ",") + "]"
        default: nil
        }
    }
}

extension Result where Success == Void {
    fileprivate var failure: Failure? {
        if case .failure(let error) = self { error } else { nil }
    }
}
