import Foundation
import SkyrowModel
import SkyrowProtocol
import Testing

@testable import SkyrowClient
@testable import SkyrowJSON

@Suite struct RetryTests {
    private static let empty = ScriptedTransport.Line.result(#"{"record_types":{}}"#)
    private static let record = ScriptedTransport.Line.result(#"[{"_id":"note/1","_type":"record","_access":null}]"#)

    @Test func callsThatReadAreRepeated() async throws {
        let scripted = ScriptedClient([
            .lost, .response("", status: 503), .error(135, "Overloaded", status: 503), RetryTests.empty,
        ])
        _ = try await scripted.client.schema()
        #expect(scripted.transport.isAtItsEnd)
        #expect(scripted.pauses.count == 3)
    }

    @Test func theyAreRepeatedOnlySoOften() async {
        let scripted = ScriptedClient([.lost, .lost, .lost, .lost, RetryTests.empty])
        let error = await #expect(throws: ClientError.self) { _ = try await scripted.client.schema() }
        #expect(error?.code == .noResponse)
        #expect(error?.underlying is ScriptedTransport.Lost)
        #expect(scripted.transport.requests.count == 4)
        for (pause, longest) in zip(scripted.pauses, [200, 400, 800]) {
            #expect((Duration.milliseconds(longest / 2)...Duration.milliseconds(longest)).contains(pause))
        }
    }

    @Test func savesAreRepeatedUnderOneKey() async throws {
        let scripted = ScriptedClient([.lost, .error(136, "OutcomeUnknown"), RetryTests.record, RetryTests.record])
        let draft = try RecordDraft("note/1", ["title": "Milk"])
        _ = try await scripted.client.publicDatabase.save(draft)
        _ = try await scripted.client.publicDatabase.save(draft)
        let keys = try scripted.transport.requests.map { request in
            try JSONDocument(request.body).withRoot { $0["params"]?["idempotency_key"]?.string }
        }
        #expect(keys.count == 4)
        #expect(keys[0] != nil && keys[0] == keys[1] && keys[1] == keys[2])
        #expect(keys[3] != nil && keys[3] != keys[0])
    }

    @Test func deletesAreRepeatedUnderOneKey() async throws {
        let scripted = ScriptedClient([.lost, RetryTests.record])
        try await scripted.client.publicDatabase.delete(RecordID("note/1"))
        #expect(Set(scripted.transport.bodies).count == 1)
        #expect(scripted.transport.bodies[0].contains("idempotency_key"))
    }

    @Test func whatMayHaveHappenedIsNotRepeated() async {
        let signUp = ScriptedClient([.lost, RetryTests.empty])
        await #expect(throws: ClientError.self) { try await signUp.client.signUp(["username": "ann"], password: "pw") }
        #expect(signUp.transport.requests.count == 1)
        let rename = ScriptedClient([.error(136, "OutcomeUnknown"), RetryTests.empty])
        await #expect(throws: ClientError.self) {
            try await rename.client.renameField(FieldName("a"), of: RecordTypeName("note"), to: FieldName("b"))
        }
        #expect(rename.transport.requests.count == 1)
    }

    @Test func whatTheServerDidNotDoIsRepeatedEvenThen() async throws {
        let scripted = ScriptedClient([
            .error(135, "Overloaded", status: 503),
            .result(#"{"user_id":"u1","access_token":"t","profile":{"_id":"user/u1"}}"#),
        ])
        try await scripted.client.signUp(["username": "ann"], password: "pw")
        #expect(scripted.transport.isAtItsEnd)
    }

    @Test(arguments: [101, 102, 104, 108, 110, 114, 130, 133, 10000, -32601])
    func refusalsAreFinal(code: Int) async {
        let scripted = ScriptedClient([.error(code), RetryTests.empty])
        await #expect(throws: ClientError.self) { _ = try await scripted.client.schema() }
        #expect(scripted.transport.requests.count == 1)
    }

    @Test func aServerThatSaysWhenIsObeyed() async throws {
        let scripted = ScriptedClient([.error(131, "RateLimited", info: #"{"retry_after":3}"#), RetryTests.empty])
        _ = try await scripted.client.schema()
        #expect(scripted.pauses == [.seconds(3)])
        let tooLong = ScriptedClient([.error(131, "RateLimited", info: #"{"retry_after":60}"#), RetryTests.empty])
        await #expect(throws: ClientError.self) { _ = try await tooLong.client.schema() }
        #expect(tooLong.pauses.isEmpty)
    }

    @Test func delaysGrowUpToTheLongest() {
        let policy = RetryPolicy(maximumAttempts: 50, initialDelay: .milliseconds(100), maximumDelay: .seconds(1))
        let failure = ClientError(.noResponse, "")
        func delay(_ attempt: Int, _ share: Double) -> Duration? {
            policy.delay(afterAttempt: attempt, failure: failure, repeatability: .safe, share: share)
        }
        #expect((1...6).map { delay($0, 1) } == [100, 200, 400, 800, 1000, 1000].map { .milliseconds($0) })
        #expect(delay(3, 0) == .milliseconds(200))
        #expect(delay(49, 1) == .seconds(1))
        #expect(delay(50, 1) == nil)
        #expect(policy.delay(afterAttempt: 1, failure: failure, repeatability: .unsafe, share: 1) == nil)
    }
}
