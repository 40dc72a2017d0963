import SkyrowModel
import SkyrowTestSupport
import Testing

@testable import SkyrowJSON
@testable import SkyrowProtocol

/// The parameters and results of actions on keys.
@Suite struct KeyActionTests {
    typealias Row = FormTests.Row

    private static let scopes = "[" + (0...100).map { "\"type:t\($0)\"" }.joined(separator: ",") + "]"
    private static let networks = "[" + (0...100).map { "\"10.0.0.\($0)\"" }.joined(separator: ",") + "]"

    static let creations = [
        Row(json: #"{"name":"ios"}"#),
        Row(
            json: #"""
                {"name":"ios","kind":"server","scopes":["read","type:note"],"networks":["10.0.0.0/8"],\#
                "expires_at":"2000-01-01T00:00:00Z"}
                """#
        ),
        Row(json: #"{"name":"ios","kind":"client","scopes":[],"networks":null}"#, written: #"{"name":"ios"}"#),
        Row(
            json: #"{"name":"ios","scopes":["read","read"],"networks":["192.0.2.7"]}"#,
            written: #"{"name":"ios","scopes":["read"],"networks":["192.0.2.7/32"]}"#
        ),
        Row(json: "{}", code: .invalidArgument, argument: "name"),
        Row(json: #"{"name":"a\nb"}"#, code: .invalidArgument, argument: "name"),
        Row(json: #"{"name":1}"#, code: .badRequest, argument: "name"),
        Row(json: #"{"name":"a","kind":"master"}"#, code: .invalidArgument, argument: "kind"),
        Row(
            json: #"{"name":"a","scopes":["read","all"]}"#,
            code: .invalidArgument,
            argument: "scopes",
            path: "scopes[1]"
        ),
        Row(json: #"{"name":"a","scopes":\#(scopes)}"#, code: .invalidArgument, argument: "scopes"),
        Row(
            json: #"{"name":"a","networks":["10.0.0.1/8"]}"#,
            code: .invalidArgument,
            argument: "networks",
            path: "networks[0]"
        ),
        Row(json: #"{"name":"a","networks":\#(networks)}"#, code: .invalidArgument, argument: "networks"),
        Row(json: #"{"name":"a","expires_at":"soon"}"#, code: .invalidArgument, argument: "expires_at"),
    ]

    static let rotations = [
        Row(json: #"{"id":"k7f3q9x2a","overlap":0}"#),
        Row(json: #"{"id":"k7f3q9x2a","overlap":604800}"#, written: #"{"id":"k7f3q9x2a"}"#),
        Row(json: #"{"id":"k7f3q9x2a","overlap":31536000}"#),
        Row(json: #"{"id":"k7f3q9x2a","overlap":31536001}"#, code: .invalidArgument, argument: "overlap"),
        Row(json: #"{"id":"k7f3q9x2a","overlap":-1}"#, code: .invalidArgument, argument: "overlap"),
        Row(json: #"{"id":"K7F3Q9X2A"}"#, code: .invalidArgument, argument: "id"),
        Row(json: "{}", code: .invalidArgument, argument: "id"),
    ]

    @Test(arguments: creations) func parametersOfACreation(_ row: Row) throws {
        try FormTests().check(Actions.keyCreate.parameters, row)
    }

    @Test(arguments: rotations) func parametersOfARotation(_ row: Row) throws {
        try FormTests().check(Actions.keyRotate.parameters, row)
    }

    @Test func aKeyIsReadAsItWasWritten() throws {
        let key = AccessKey(
            StoredKey(
                id: try #require(KeyID("k7f3q9x2a")),
                name: "ios",
                kind: .server,
                scopes: [.read],
                networks: [try AddressRange(checked: "10.0.0.0/8")],
                createdAt: Timestamp(microseconds: 0),
                revokedAt: Timestamp(microseconds: 1)
            )
        )
        let issued = IssuedAccessKey(key, text: "sky_k7f3q9x2a_secret")
        let codec = Actions.keyCreate.result
        let text = writtenJSON { codec.write(issued, $0) }
        #expect(text.hasPrefix(#"{"key":"sky_k7f3q9x2a_secret","id":"k7f3q9x2a","name":"ios","kind":"server""#))
        #expect(try readJSON(text) { try codec.read($0, "result") } == issued)
        // A newer service may have scopes that this one does not.
        let newer = text.replacing("\"read\"", with: "\"other\"")
        #expect(try readJSON(newer) { try codec.read($0, "result") }.key.scopes == ["other"])
    }
}
