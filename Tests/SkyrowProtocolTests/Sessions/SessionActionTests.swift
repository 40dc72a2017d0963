import SkyrowModel
import SkyrowTestSupport
import Testing

@testable import SkyrowJSON
@testable import SkyrowProtocol

/// The parameters and results of actions on sessions.
@Suite struct SessionActionTests {
    typealias Row = FormTests.Row

    private static let id = "0b7f5f0e-8d2c-4b3a-9a64-6f1f0c2d9e11"
    private static let ids = "[" + repeatElement("\"\(id)\"", count: 10_001).joined(separator: ",") + "]"

    static let revocations = [
        Row(json: #"{"ids":["\#(id)"]}"#),
        Row(json: #"{"ids":[]}"#),
        Row(json: #"{"all":true}"#),
        Row(json: #"{"all":true,"except_current":true,"ids":null}"#, written: #"{"all":true,"except_current":true}"#),
        Row(json: #"{"ids":["\#(id)","x"]}"#, code: .invalidArgument, argument: "ids", path: "ids[1]"),
        Row(json: #"{"ids":["\#(id)x"]}"#, code: .invalidArgument, argument: "ids", path: "ids[0]"),
        Row(
            json: #"{"ids":["0b7f5f0e8d2c-4b3a-9a64-6f1f0c2d9e11-"]}"#,
            code: .invalidArgument,
            argument: "ids",
            path: "ids[0]"
        ),
        Row(json: #"{"ids":"\#(id)"}"#, code: .badRequest, argument: "ids"),
        Row(json: #"{"ids":[1]}"#, code: .badRequest, argument: "ids", path: "ids[0]"),
        Row(json: #"{"ids":\#(ids)}"#, code: .invalidArgument, argument: "ids"),
        Row(json: #"{"all":"yes"}"#, code: .badRequest, argument: "all"),
    ]

    static let proofs = [
        Row(json: #"{"password":"pw"}"#),
        // It is only hashed.
        Row(json: #"{"password":"\u0000"}"#),
        Row(json: #"{"password":null,"code":"012345"}"#, written: #"{"code":"012345"}"#),
        Row(json: #"{"code":""}"#),
        Row(json: #"{"provider":"p","id_token":"a.b.c","nonce":"n","provider_access_token":"t"}"#),
        Row(json: #"{"password":"pw","nonce":"n"}"#, written: #"{"password":"pw"}"#),
        Row(json: #"{"provider":"p"}"#, code: .invalidArgument, argument: "id_token"),
        Row(json: #"{"id_token":"a.b.c","nonce":"n"}"#, code: .invalidArgument, argument: "provider"),
        Row(json: #"{"provider":"p","id_token":"a.b.c"}"#, code: .invalidArgument, argument: "nonce"),
        Row(json: #"{"provider":"","id_token":"a.b.c","nonce":"n"}"#, code: .invalidArgument, argument: "provider"),
        Row(json: #"{"password":1}"#, code: .badRequest, argument: "password"),
    ]

    @Test(arguments: revocations) func parametersOfARevocation(_ row: Row) throws {
        try FormTests().check(Actions.sessionRevoke.parameters, row)
    }

    @Test(arguments: proofs) func parametersOfAProof(_ row: Row) throws {
        try FormTests().check(Actions.authStepUp.parameters, row)
    }

    @Test(arguments: [
        "{}", #"{"all":false}"#, #"{"except_current":true}"#, #"{"ids":["\#(id)"],"all":true}"#,
        #"{"ids":["\#(id)"],"except_current":true}"#,
    ])
    func anythingElseEndsNone(_ text: String) throws {
        let error = try refusal(text) { try Actions.sessionRevoke.parameters.read($0) }
        #expect(error?.code == .invalidArgument && error?.arguments == ["ids", "all"])
    }

    @Test(arguments: [
        "{}", #"{"password":"pw","code":"1"}"#, #"{"password":"pw","provider":"p","id_token":"t","nonce":"n"}"#,
        #"{"nonce":"n"}"#,
    ])
    func oneProofIsGiven(_ text: String) throws {
        let error = try refusal(text) { try Actions.authStepUp.parameters.read($0) }
        #expect(error?.code == .invalidArgument && error?.arguments == ["password", "code", "id_token"])
    }

    @Test func allSessionsEndAfterAProofOnly() {
        #expect(Actions.sessionRevoke.takesStepUp(.all(exceptCurrent: true)))
        #expect(!Actions.sessionRevoke.takesStepUp(.ids([Self.id])))
    }

    @Test func aSessionIsReadAsItWasWritten() throws {
        let full = AccountSession(
            id: Self.id,
            device: SessionDevice(id: "d", name: "n"),
            address: "192.0.2.7",
            userAgent: "",
            createdAt: Timestamp(microseconds: 0),
            lastUsedAt: Timestamp(microseconds: 60_000_000),
            expiresAt: Timestamp(microseconds: 90_000_000),
            createdWith: "login",
            level: 2,
            isCurrent: true
        )
        let least = AccountSession(
            id: Self.id,
            createdAt: Timestamp(microseconds: 0),
            lastUsedAt: Timestamp(microseconds: 0)
        )
        let codec = Actions.sessionList.result
        let back = try readJSON(writtenJSON { codec.write([full, least], $0) }) { try codec.read($0, "result") }
        #expect(back == [full, least])
        // Older services say nothing of the level.
        let older = #"[{"id":"s1","created_at":"2000-01-01T00:00:00Z","last_used_at":"2000-01-01T00:00:00Z"}]"#
        #expect(try readJSON(older) { try codec.read($0, "result") }.map(\.level) == [1])
    }
}
