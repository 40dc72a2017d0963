import SkyrowModel
import SkyrowTestSupport
import Testing

@testable import SkyrowJSON
@testable import SkyrowProtocol

/// What the parameters of the actions that make accounts and log in to them read, refuse and write.
@Suite struct AccountFormTests {
    private static let keys = #""auth_data":{"username":"ann"}"#
    private static let long = String(repeating: "x", count: 256)
    private static let many = (0...16).map { #""k\#($0)":"x""# }.joined(separator: ",")

    static let profiles = [
        FormTests.Row(json: #"{\#(keys),"password":"pw","profile":{"age":3,"name":"Ann"}}"#),
        FormTests.Row(
            json:
                #"{"auth_data":{"username":"ann","email":null},"password":"pw","profile":{"age":3,"_id":"user/x","":1}}"#,
            written: #"{\#(keys),"password":"pw","profile":{"age":3}}"#
        ),
        FormTests.Row(
            json: #"{\#(keys),"password":"p\u0000","profile":null}"#,
            written: #"{\#(keys),"password":"p\u0000"}"#
        ),
        FormTests.Row(json: #"{"auth_data":[]}"#, code: .badRequest, argument: "auth_data"),
        FormTests.Row(json: #"{"auth_data":{"username":1}}"#, code: .invalidArgument, argument: "auth_data"),
        FormTests.Row(json: #"{"auth_data":{"username":""}}"#, code: .invalidArgument, argument: "auth_data"),
        FormTests.Row(json: #"{"auth_data":{"username":"a\u0000"}}"#, code: .invalidArgument, argument: "auth_data"),
        FormTests.Row(json: #"{"auth_data":{"username":"\#(long)"}}"#, code: .invalidArgument, argument: "auth_data"),
        FormTests.Row(json: #"{"auth_data":{\#(many)}}"#, code: .invalidArgument, argument: "auth_data"),
        FormTests.Row(json: #"{\#(keys),"password":1}"#, code: .badRequest, argument: "password"),
        FormTests.Row(json: #"{\#(keys),"password":"pw","profile":[]}"#, code: .badRequest, argument: "profile"),
        FormTests.Row(
            json: #"{\#(keys),"password":"pw","profile":{"a b":1}}"#,
            code: .invalidArgument,
            argument: "a b"
        ),
        FormTests.Row(
            json: #"{\#(keys),"password":"pw","profile":{"a":{"$type":"blob"}}}"#,
            code: .invalidArgument,
            argument: "a"
        ),
    ]

    static let logIns = [
        FormTests.Row(json: #"{\#(keys),"password":"pw","new_password":"other"}"#),
        // Absent and null mean the same.
        FormTests.Row(
            json: #"{\#(keys),"password":"pw","new_password":null}"#,
            written: #"{\#(keys),"password":"pw"}"#
        ),
        FormTests.Row(
            json: #"{\#(keys),"password":"pw","new_password":1}"#,
            code: .badRequest,
            argument: "new_password"
        ),
        FormTests.Row(json: #"{"password":"pw"}"#, code: .invalidArgument, argument: "auth_data"),
        FormTests.Row(json: #"{\#(keys)}"#, code: .invalidArgument, argument: "password"),
    ]

    static let devices = [
        FormTests.Row(json: #"{\#(keys),"password":"pw","device_id":"7f3c","device_name":"Ann's phone"}"#),
        FormTests.Row(json: #"{\#(keys),"password":"pw","device_id":null}"#, written: #"{\#(keys),"password":"pw"}"#),
        FormTests.Row(
            json: #"{\#(keys),"password":"pw","device_id":""}"#,
            code: .invalidArgument,
            argument: "device_id"
        ),
        FormTests.Row(
            json: #"{\#(keys),"password":"pw","device_name":"a\u0000"}"#,
            code: .invalidArgument,
            argument: "device_name"
        ),
        FormTests.Row(
            json: #"{\#(keys),"password":"pw","device_name":"\#(long)"}"#,
            code: .invalidArgument,
            argument: "device_name"
        ),
    ]

    static let passwords = [
        FormTests.Row(json: #"{"old_password":"a","password":"b"}"#),
        FormTests.Row(json: #"{"password":"b"}"#, code: .invalidArgument, argument: "old_password"),
        FormTests.Row(json: #"{"old_password":"a","password":null}"#, code: .invalidArgument, argument: "password"),
    ]

    @Test(arguments: profiles) func newAccounts(_ row: FormTests.Row) throws {
        try FormTests().check(Actions.authSignUp.parameters, row)
        try FormTests().check(Actions.authRegister.parameters, row)
    }

    @Test(arguments: logIns) func parametersOfALogIn(_ row: FormTests.Row) throws {
        try FormTests().check(Actions.authLogIn.parameters, row)
    }

    @Test(arguments: devices) func devicesOfSessions(_ row: FormTests.Row) throws {
        try FormTests().check(Actions.authSignUp.parameters, row)
        try FormTests().check(Actions.authLogIn.parameters, row)
    }

    @Test(arguments: passwords) func passwordsOfAccounts(_ row: FormTests.Row) throws {
        try FormTests().check(Actions.authPassword.parameters, row)
    }

    @Test(arguments: ["{}", #"{"auth_data":null,"password":null,"profile":null}"#])
    func aSignUpWithoutParametersIsAnonymous(json: String) throws {
        try FormTests().check(Actions.authSignUp.parameters, FormTests.Row(json: json, written: "{}"))
    }

    /// The name of a provider takes the place of login data, and must not pass for an anonymous sign-up.
    @Test func skygearsPluginsLogInByTheirData() throws {
        let json = #"{\#(Self.keys),"password":"pw","provider":"com.facebook"}"#
        for error in [
            try refusal(json) { try Actions.authSignUp.read($0, rules: .v1) },
            try refusal(json) { try Actions.authLogIn.read($0, rules: .v1) },
        ] {
            #expect(error?.code == .invalidArgument && error?.arguments == ["provider_auth_data"])
        }
        let data = #"{"provider":"com.facebook","provider_auth_data":{"a":1}}"#
        let request = try readJSON(data) { try Actions.authLogIn.read($0, rules: .v1) }
        #expect(request.provider?.provider == "com.facebook" && request.authData.isEmpty)
        let none = json.replacing(#""com.facebook""#, with: "null")
        #expect(try readJSON(none) { try Actions.authLogIn.read($0, rules: .v1) }.password == "pw")
    }

    /// v1's clients cannot write `1.0`.
    @Test func anIntegerOfAV1ProfileIsANumber() throws {
        let json = #"{\#(Self.keys),"password":"pw","profile":{"age":3}}"#
        #expect(try readJSON(json) { try Actions.authSignUp.read($0, rules: .v1) }.profile.first?.value == .number(3))
        #expect(try readJSON(json) { try Actions.authSignUp.read($0, rules: .rpc) }.profile.first?.value == .integer(3))
    }

    @Test(
        arguments: [
            #"{"user_id":"u1","profile":{"_id":"user/u1","_type":"record","_access":null,"name":"Ann","_groups":[],"_roles":[]},"access_token":"t"}"#,
            #"{"user_id":"u1","profile":{"_id":"user/u1","_type":"record","_access":null,"_groups":["g"],"_roles":["a","b"],"_verified":true},"#
                + #""roles":["a"],"access_token":"t","level":2,"last_login_at":"2000-01-01T00:00:00Z","#
                + #""last_seen_at":"2000-01-01T00:00:00.000001Z","is_new":false,"is_anonymous":true}"#,
        ]
    )
    func theResultOfALogInIsReadAsItIsWritten(json: String) throws {
        let result = try readJSON(json) { try Codec.authResult.read($0, "result") }
        #expect(writtenJSON { Codec.authResult.write(result, $0) } == json)
    }

    @Test func aLogInWithoutATokenIsNoResult() throws {
        #expect(
            try refusal(#"{"user_id":"u1","profile":{"_id":"user/u1"}}"#) { try Codec.authResult.read($0, "result") }
                != nil
        )
    }

    @Test func credentialsMayBeNull() throws {
        let body = #"{"api_key":"k","access_token":null,"_user_id":"u1"}"#
        #expect(try readJSON(body) { try Credentials(parameters: $0) } == Credentials(key: "k", actingUserID: "u1"))
        #expect(try refusal(#"{"api_key":1}"#) { try Credentials(parameters: $0) }?.code == .badRequest)
        #expect(try refusal(#"{"_user_id":""}"#) { try Credentials(parameters: $0) }?.arguments == ["_user_id"])
    }
}
