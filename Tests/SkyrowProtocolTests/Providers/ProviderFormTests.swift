import SkyrowModel
import SkyrowTestSupport
import Testing

@testable import SkyrowJSON
@testable import SkyrowProtocol

/// What the parameters of the actions on providers read, refuse and write.
@Suite struct ProviderFormTests {
    private static let long = String(repeating: "x", count: 255)
    // RFC 7636, appendix B.
    private static let challenge = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"

    private static func scopes(_ count: Int) -> String {
        "[" + (0..<count).map { "\"s\($0)\"" }.joined(separator: ",") + "]"
    }

    @Test(arguments: [
        FormTests.Row(json: #"{"provider":"p","id_token":"a.b.c","nonce":"n","provider_access_token":"t"}"#),
        FormTests.Row(json: #"{"provider":"\#(long)","id_token":"t","nonce":"\#(long)"}"#),
        FormTests.Row(json: #"{"id_token":"t","nonce":"n"}"#, code: .invalidArgument, argument: "provider"),
        FormTests.Row(json: #"{"provider":"p","nonce":"n"}"#, code: .invalidArgument, argument: "id_token"),
        FormTests.Row(json: #"{"provider":"p","id_token":"t"}"#, code: .invalidArgument, argument: "nonce"),
        FormTests.Row(
            json: #"{"provider":"p","id_token":"","nonce":"n"}"#,
            code: .invalidArgument,
            argument: "id_token"
        ),
        FormTests.Row(
            json: #"{"provider":"p","id_token":"\#(String(repeating: "x", count: 16_385))","nonce":"n"}"#,
            code: .invalidArgument,
            argument: "id_token"
        ),
    ])
    func theTokenOfAProvider(_ row: FormTests.Row) throws {
        try FormTests().check(Actions.authProviderLink.parameters, row)
        try FormTests().check(Actions.authProviderLogIn.parameters, row)
    }

    @Test(arguments: [
        FormTests.Row(json: #"{"token":"a.b.c","device_id":"7f3c","device_name":"Ann's phone"}"#),
        FormTests.Row(json: #"{"token":"\#(String(repeating: "x", count: 65_536))"}"#),
        FormTests.Row(
            json: #"{"token":"\#(String(repeating: "x", count: 65_537))"}"#,
            code: .invalidArgument,
            argument: "token"
        ),
        FormTests.Row(json: #"{"token":""}"#, code: .invalidArgument, argument: "token"),
        FormTests.Row(json: #"{"token":"t","device_id":""}"#, code: .invalidArgument, argument: "device_id"),
    ])
    func theTokenOfAServer(_ row: FormTests.Row) throws {
        try FormTests().check(Actions.ssoCustomTokenLogIn.parameters, row)
    }

    /// The members of a sign-in beside those that every one has.
    @Test(
        arguments: [
            ("", nil, ""), (#","state":"s""#, nil, ""), (#","link":true"#, nil, ""), (#","stepup":true"#, nil, ""),
            (#","scopes":\#(scopes(20))"#, nil, ""), (#","scopes":\#(scopes(21))"#, .invalidArgument, "scopes"),
            (#","scopes":["a",""]"#, .invalidArgument, "scopes"), (#","scopes":"a""#, .badRequest, "scopes"),
            (#","state":"\#(long)x""#, .invalidArgument, "state"), (#","link":1"#, .badRequest, "link"),
            (#","link":true,"stepup":true"#, .invalidArgument, "link"),
        ] as [(String, ErrorCode?, String)]
    )
    func whatASignInAsksFor(members: String, code: ErrorCode?, argument: String) throws {
        let json = #"{"provider":"p","redirect":"a:/b","code_challenge":"\#(Self.challenge)"\#(members)}"#
        let form = Actions.authProviderStart.parameters
        guard let code else { return try FormTests().check(form, FormTests.Row(json: json)) }
        let error = try refusal(json) { try form.read($0) }
        #expect(error?.code == code)
        #expect(error?.arguments.first == argument)
    }

    @Test(arguments: [
        (challenge, true), (String(challenge.dropLast()), false), (challenge + "A", false),
        (String(challenge.dropLast()) + "+", false), ("", false),
    ])
    func theHashOfAVerifier(text: String, isAccepted: Bool) throws {
        let json = #"{"provider":"p","redirect":"a:/b","code_challenge":"\#(text)"}"#
        try FormTests().check(
            Actions.authProviderStart.parameters,
            FormTests.Row(json: json, code: isAccepted ? nil : .invalidArgument, argument: "code_challenge")
        )
    }

    @Test(arguments: [
        (String(repeating: "v", count: 43), true), (String(repeating: "~", count: 128), true),
        (String(repeating: "v", count: 42), false), (String(repeating: "v", count: 129), false),
        (String(repeating: "v", count: 42) + "+", false), (String(repeating: "é", count: 43), false),
    ])
    func theVerifierOfASignIn(text: String, isAccepted: Bool) throws {
        let json = #"{"code":"c","code_verifier":"\#(text)"}"#
        try FormTests().check(
            Actions.authProviderFinish.parameters,
            FormTests.Row(json: json, code: isAccepted ? nil : .invalidArgument, argument: "code_verifier")
        )
    }

    // MARK: Skygear's actions

    private static let object = #"{"a":"\#(String(repeating: "x", count: 16_376))"}"#

    static let identities = [
        FormTests.Row(json: #"{"provider":"p","principal_id":"1"}"#),
        FormTests.Row(json: #"{"provider":"\#(long.prefix(64))","principal_id":"\#(long)","token_response":{"a":1}}"#),
        FormTests.Row(
            json: #"{"provider":"p","principal_id":"1","provider_profile":{}}"#,
            written: #"{"provider":"p","principal_id":"1"}"#
        ),
        FormTests.Row(json: #"{"provider":"p","principal_id":"1","provider_profile":\#(object)}"#),
        FormTests.Row(
            json: #"{"provider":"p","principal_id":"1","provider_profile":\#(object.dropLast(2))x"}}"#,
            code: .invalidArgument,
            argument: "provider_profile"
        ),
        FormTests.Row(
            json: #"{"provider":"p","principal_id":"1","token_response":[]}"#,
            code: .badRequest,
            argument: "token_response"
        ),
        FormTests.Row(
            json: #"{"provider":"\#(long.prefix(65))","principal_id":"1"}"#,
            code: .invalidArgument,
            argument: "provider"
        ),
        FormTests.Row(
            json: #"{"provider":"custom-token","principal_id":"1"}"#,
            code: .invalidArgument,
            argument: "provider"
        ),
        FormTests.Row(json: #"{"provider":"p"}"#, code: .invalidArgument, argument: "principal_id"),
        FormTests.Row(
            json: #"{"provider":"p","principal_id":"\#(long)x"}"#,
            code: .invalidArgument,
            argument: "principal_id"
        ),
    ]

    @Test(arguments: identities) func theIdentityThatAServerNames(_ row: FormTests.Row) throws {
        try FormTests().check(Actions.ssoOAuthLogIn.parameters, row)
        try FormTests().check(Actions.ssoOAuthSignUp.parameters, row)
    }

    @Test(arguments: [
        FormTests.Row(json: #"{"provider":"p","principal_id":"1","user_id":"u","token_response":{"a":1}}"#),
        FormTests.Row(json: #"{"provider":"p","principal_id":"1"}"#, code: .invalidArgument, argument: "user_id"),
        FormTests.Row(
            json: #"{"provider":"custom-token","principal_id":"1","user_id":"u"}"#,
            code: .invalidArgument,
            argument: "provider"
        ),
    ])
    func theUserOfALink(_ row: FormTests.Row) throws {
        try FormTests().check(Actions.ssoOAuthLink.parameters, row)
    }

    @Test func aProfileIsReadByTheRulesOfTheEnvelope() throws {
        let json = #"{"provider":"p","principal_id":"1","profile":{"age":3,"_owner":"bob","":1}}"#
        let signUp = try readJSON(json) { try Actions.ssoOAuthSignUp.read($0, rules: .rpc) }
        #expect(signUp.profile.map(\.name.rawValue) == ["age"] && signUp.profile.map(\.value) == [.integer(3)])
        let skygear = try readJSON(json) { try Actions.ssoOAuthSignUp.read($0, rules: .v1) }
        #expect(skygear.profile.map(\.value) == [.number(3)])
    }
}
