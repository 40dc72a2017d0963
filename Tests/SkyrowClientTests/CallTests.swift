import Foundation
import SkyrowModel
import Testing

@testable import SkyrowClient

@Suite struct CallTests {
    private let ann = Session(userID: "u1", accessToken: "t1")

    @Test func requestsCarryKeyAndToken() async throws {
        let scripted = ScriptedClient([.result(#"{"record_types":{}}"#), .result(#"{"record_types":{}}"#)])
        _ = try await scripted.client.schema()
        scripted.sessions.store(ann)
        _ = try await scripted.client.schema()
        let requests = scripted.transport.requests
        #expect(requests.map(\.url.absoluteString) == Array(repeating: "http://service.example/base/rpc", count: 2))
        let headers = requests.map { Dictionary(uniqueKeysWithValues: $0.headers.map { ($0.name, $0.value) }) }
        #expect(
            headers[0] == [
                "Content-Type": "application/json", "Accept": "application/json", "X-Skygear-API-Key": "key",
            ]
        )
        #expect(headers[1]["Authorization"] == "Bearer t1")
        #expect(scripted.transport.bodies[0] == #"{"jsonrpc":"2.0","id":1,"method":"schema:fetch"}"#)
    }

    @Test func refusalsArriveAsTheServersError() async {
        let scripted = ScriptedClient([.error(102, "PermissionDenied", info: #"{"arguments":["x"]}"#)])
        let error = await #expect(throws: ClientError.self) { _ = try await scripted.client.schema() }
        #expect(error?.code == .refused)
        #expect(error?.serverCode == .permissionDenied)
        #expect(error?.serverError?.info == ["arguments": .list([.string("x")])])
        #expect(error?.description == "PermissionDenied (102): No.")
    }

    @Test func aCodeThatThisVersionDoesNotKnowIsKept() async {
        let scripted = ScriptedClient([.error(4711)])
        let error = await #expect(throws: ClientError.self) { _ = try await scripted.client.schema() }
        #expect(error?.serverCode == ErrorCode(rawValue: 4711))
    }

    @Test(
        arguments: [
            ("<html>", 200, .invalidResponse), ("", 200, .invalidResponse), ("{}", 200, .invalidResponse),
            ("[]", 200, .invalidResponse),
            ("<html>", 404, .invalidResponse),
            (#"{"jsonrpc":"2.0","id":1,"result":{"record_types":{"_x":{}}}}"#, 200, .invalidResponse),
            ("<html>", 502, .noResponse), ("", 503, .noResponse), ("", 504, .noResponse),
        ] as [(String, Int, ClientError.Code)]
    )
    func whatIsNoAnswerIsToldApart(body: String, status: Int, code: ClientError.Code) async {
        let scripted = ScriptedClient([.response(body, status: status)], retryPolicy: .never)
        let error = await #expect(throws: ClientError.self) { _ = try await scripted.client.schema() }
        #expect(error?.code == code)
    }

    @Test func aSessionThatIsOverIsForgotten() async {
        let scripted = ScriptedClient([.error(104, "AccessTokenNotAccepted")], session: ann)
        let error = await #expect(throws: ClientError.self) { _ = try await scripted.client.schema() }
        #expect(error?.serverCode == .accessTokenNotAccepted)
        #expect(scripted.client.session == nil)
    }

    @Test func sessionsDoNotPrintTheirToken() {
        var text = ""
        dump(ann, to: &text)
        for shown in ["\(ann)", String(reflecting: ann), text] { #expect(!shown.contains("t1")) }
    }
}
