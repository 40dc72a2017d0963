import SkyrowModel
import SkyrowTestSupport
import Testing

@testable import SkyrowJSON
@testable import SkyrowProtocol

/// What the parameters of the actions on codes read, refuse and write.
@Suite struct CodeFormTests {
    private static let long = String(repeating: "x", count: 255)

    static let requests = [
        FormTests.Row(json: #"{"email":"ann@example.org"}"#),
        FormTests.Row(json: #"{"email":"\#(long)","language":"\#(long.prefix(35))"}"#),
        FormTests.Row(json: #"{"email":"a","language":null}"#, written: #"{"email":"a"}"#),
        FormTests.Row(json: "{}", code: .invalidArgument, argument: "email"),
        FormTests.Row(json: #"{"email":null}"#, code: .invalidArgument, argument: "email"),
        FormTests.Row(json: #"{"email":""}"#, code: .invalidArgument, argument: "email"),
        FormTests.Row(json: #"{"email":"\#(long)x"}"#, code: .invalidArgument, argument: "email"),
        FormTests.Row(json: #"{"email":"a\u0000"}"#, code: .invalidArgument, argument: "email"),
        FormTests.Row(json: #"{"email":1}"#, code: .badRequest, argument: "email"),
        FormTests.Row(json: #"{"email":"a","language":""}"#, code: .invalidArgument, argument: "language"),
        FormTests.Row(
            json: #"{"email":"a","language":"\#(long.prefix(36))"}"#,
            code: .invalidArgument,
            argument: "language"
        ),
        FormTests.Row(json: #"{"email":"a","language":2}"#, code: .badRequest, argument: "language"),
    ]

    @Test(arguments: requests) func theAddressOfACode(_ row: FormTests.Row) throws {
        for action in [Actions.authResetRequest, Actions.authLinkRequest] {
            try FormTests().check(action.parameters, row)
        }
        try FormTests().check(Actions.authInvite.parameters, row)
        try FormTests().check(Actions.authEmailChange.parameters, row)
        guard row.json != "{}", row.json != #"{"email":null}"# else { return }
        try FormTests().check(Actions.authVerifyRequest.parameters, row)
    }

    /// Skygear names the field of the user.
    @Test(
        arguments: [
            (#"{"record_key":"email"}"#, nil), (#"{"record_key":null}"#, nil),
            (#"{"record_key":"phone"}"#, .invalidArgument), (#"{"record_key":1}"#, .badRequest),
        ] as [(String, ErrorCode?)]
    )
    func onlyTheFieldEmailIsVerified(json: String, code: ErrorCode?) throws {
        #expect(try readJSON(json) { try Actions.authVerifyRequest.read($0, rules: .rpc) }.email == nil)
        guard let code else {
            #expect(try readJSON(json) { try Actions.authVerifyRequest.read($0, rules: .v1) }.email == nil)
            return
        }
        let error = try refusal(json) { try Actions.authVerifyRequest.read($0, rules: .v1) }
        #expect(error?.code == code)
        #expect(error?.arguments == ["record_key"])
    }

    static let confirmations = [
        FormTests.Row(json: #"{"code":"012345","handle":"c_1"}"#),
        FormTests.Row(json: #"{"code":"\#(long)","handle":"\#(long)"}"#),
        FormTests.Row(json: #"{"handle":"c_1"}"#, code: .invalidArgument, argument: "code"),
        FormTests.Row(json: #"{"code":"","handle":"c_1"}"#, code: .invalidArgument, argument: "code"),
        FormTests.Row(json: #"{"code":"\#(long)x","handle":"c_1"}"#, code: .invalidArgument, argument: "code"),
        FormTests.Row(json: #"{"code":1,"handle":"c_1"}"#, code: .badRequest, argument: "code"),
        FormTests.Row(json: #"{"code":"a","handle":""}"#, code: .invalidArgument, argument: "handle"),
        FormTests.Row(json: #"{"code":"a","handle":1}"#, code: .badRequest, argument: "handle"),
    ]

    @Test(arguments: confirmations) func theCodeOfAMail(_ row: FormTests.Row) throws {
        try FormTests().check(Actions.authVerifyConfirm.parameters, row)
        try FormTests().check(Actions.authEmailConfirm.parameters, row)
        try FormTests().check(Actions.authLinkLogIn.parameters, row)
    }

    @Test func aHandleIsNeededWhereDigitsAreTyped() throws {
        let link = #"{"code":"a"}"#
        try FormTests().check(Actions.authVerifyConfirm.parameters, FormTests.Row(json: link))
        try FormTests().check(Actions.authEmailUndo.parameters, FormTests.Row(json: link))
        let refused = FormTests.Row(json: link, code: .invalidArgument, argument: "handle")
        try FormTests().check(Actions.authEmailConfirm.parameters, refused)
        try FormTests().check(Actions.authLinkLogIn.parameters, refused)
    }

    @Test(arguments: [
        FormTests.Row(json: #"{"code":"a","handle":"c_1","device_id":"7f3c","device_name":"Ann's phone"}"#),
        FormTests.Row(
            json: #"{"code":"a","handle":"c_1","device_id":""}"#,
            code: .invalidArgument,
            argument: "device_id"
        ),
        FormTests.Row(
            json: #"{"code":"a","handle":"c_1","device_name":"\#(long)x"}"#,
            code: .invalidArgument,
            argument: "device_name"
        ),
    ])
    func aLoginSaysForWhichDeviceItIs(_ row: FormTests.Row) throws {
        try FormTests().check(Actions.authLinkLogIn.parameters, row)
    }

    @Test(arguments: [
        FormTests.Row(json: #"{"code":"a","password":"","handle":"c_1"}"#),
        // A password is hashed, and may have any character.
        FormTests.Row(json: #"{"code":"a","password":"b\u0000"}"#),
        FormTests.Row(json: #"{"code":"a"}"#, code: .invalidArgument, argument: "password"),
        FormTests.Row(json: #"{"code":"a","password":1}"#, code: .badRequest, argument: "password"),
        FormTests.Row(json: #"{"code":"a","new_password":"b"}"#, code: .invalidArgument, argument: "password"),
    ])
    func thePasswordOfAReset(_ row: FormTests.Row) throws {
        try FormTests().check(Actions.authResetConfirm.parameters, row)
    }

    /// Skygear names the password `new_password`.
    @Test func thePasswordOfAResetHasTwoNamesInSkygear() throws {
        for (json, password) in [
            (#"{"code":"a","new_password":"b"}"#, "b"), (#"{"code":"a","new_password":"b","password":"c"}"#, "c"),
            (#"{"code":"a","new_password":"b","password":null}"#, "b"), (#"{"code":"a","password":"c"}"#, "c"),
        ] {
            #expect(try readJSON(json) { try Actions.authResetConfirm.read($0, rules: .v1) }.password == password)
        }
        for (json, argument) in [(#"{"code":"a"}"#, "password"), (#"{"code":"a","new_password":1}"#, "new_password")] {
            let error = try refusal(json) { try Actions.authResetConfirm.read($0, rules: .v1) }
            #expect(error?.arguments == [argument])
        }
    }

    @Test(arguments: [
        FormTests.Row(json: #"{"auth_id":"u1","password":"b"}"#),
        FormTests.Row(json: #"{"password":"b"}"#, code: .invalidArgument, argument: "auth_id"),
        FormTests.Row(json: #"{"auth_id":"","password":"b"}"#, code: .invalidArgument, argument: "auth_id"),
        FormTests.Row(json: #"{"auth_id":"u1"}"#, code: .invalidArgument, argument: "password"),
    ])
    func thePasswordThatTheMasterKeySets(_ row: FormTests.Row) throws {
        try FormTests().check(Actions.authResetPassword.parameters, row)
    }
}
