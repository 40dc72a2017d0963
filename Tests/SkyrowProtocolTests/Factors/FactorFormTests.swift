import SkyrowModel
import SkyrowTestSupport
import Testing

@testable import SkyrowProtocol

@Suite struct FactorFormTests {
    typealias Row = FormTests.Row

    private static let longest = String(repeating: "x", count: 255)

    static let codes = [
        Row(json: #"{"code":"000000"}"#), Row(json: #"{"code":""}"#), Row(json: #"{"code":"\#(longest)"}"#),
        Row(json: #"{"code":"\#(longest)x"}"#, code: .invalidArgument, argument: "code"),
        Row(json: #"{"code":"0\u0000"}"#, code: .invalidArgument, argument: "code"),
        Row(json: #"{"code":0}"#, code: .badRequest, argument: "code"),
        Row(json: "{}", code: .invalidArgument, argument: "code"),
    ]

    static let logIns = [
        Row(json: #"{"handle":"f_1","code":"1"}"#), Row(json: #"{"handle":"","code":""}"#),
        Row(json: #"{"handle":"\#(longest)","code":"\#(longest)"}"#),
        Row(json: #"{"handle":"\#(longest)x","code":"1"}"#, code: .invalidArgument, argument: "handle"),
        Row(json: #"{"handle":"f_1","code":"\#(longest)x"}"#, code: .invalidArgument, argument: "code"),
        Row(json: #"{"handle":true,"code":"1"}"#, code: .badRequest, argument: "handle"),
        Row(json: #"{"code":"1"}"#, code: .invalidArgument, argument: "handle"),
        Row(json: #"{"handle":"f_1"}"#, code: .invalidArgument, argument: "code"),
    ]

    @Test(arguments: codes) func parametersOfAConfirmation(_ row: Row) throws {
        try FormTests().check(Actions.authTOTPConfirm.parameters, row)
    }

    @Test(arguments: logIns) func parametersOfALogIn(_ row: Row) throws {
        try FormTests().check(Actions.authLogInFactor.parameters, row)
    }

    /// What the service writes the client reads.
    @Test(
        arguments: [
            #"[{"kind":"totp","confirmed_at":"2000-01-01T00:00:00Z","last_used_at":"2000-01-01T00:00:01Z"},{"kind":"recovery","confirmed_at":"2000-01-01T00:00:00Z","left":9}]"#,
            "[]",
        ]
    )
    func factorsAreReadAsTheyAreWritten(json: String) throws {
        let result = Actions.authFactorList.result
        let factors = try readJSON(json) { try result.read($0, "result") }
        #expect(writtenJSON { result.write(factors, $0) } == json)
        let wrong = try refusal(#"[{"kind":"sms","confirmed_at":"2000-01-01T00:00:00Z"}]"#) {
            try result.read($0, "result")
        }
        #expect(wrong?.code == .invalidArgument)
    }
}
