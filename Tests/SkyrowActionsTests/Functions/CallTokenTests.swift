import SkyrowModel
import SkyrowProtocol
import SkyrowStore
import Testing

@testable import SkyrowActions

@Suite struct CallTokenTests {
    private static let key = CallTokenKey([1], of: .default)
    private static let token = CallToken(user: "ann", depth: 3, end: Timestamp(microseconds: 1_234_567))

    @Test func aTokenSaysForWhomHowDeeplyAndUntilWhen() {
        let text = Self.key.text(of: Self.token)
        #expect(CallToken.isLikely(text))
        #expect(Self.key.token(text) == Self.token)
    }

    @Test func noOtherTextIsAToken() throws {
        let text = Self.key.text(of: Self.token)
        let last: Character = text.last == "A" ? "Q" : "A"
        let deeper = CallToken(user: "ann", depth: 4, end: Self.token.end)
        let mixed = "\(text.prefix(46))\(Self.key.text(of: deeper).dropFirst(46))"
        let others: [String] = [
            "", "fc_", "fc_AAAA", "s_\(text.dropFirst(3))", "\(text)A", "\(text.dropLast())\(last)", mixed,
            "\(text.dropLast(4))", "fc_\(String(repeating: "A", count: 600))",
        ]
        for other in others {
            #expect(Self.key.token(other) == nil, "\(other)")
        }
        #expect(CallTokenKey([2], of: .default).token(text) == nil)
        let shop = try ApplicationName("shop")
        #expect(CallTokenKey([1], of: shop).token(text) == nil)
    }

    @Test func aCallTokenIsItsUserUntilItsEnd() async throws {
        try await withService { fixture in
            let service = fixture.withFunctions(ScriptedFunctions(), [("main", registration())])
            let (_, ann) = try await fixture.service.signUp("ann")
            let user = try #require(ann.userID)
            let token = try #require(service.functionContext(of: Call(by: ann), timeout: .seconds(5)).token)
            let caller = try await service.authenticate(.token(token), for: .user)
            #expect(caller == ann.unproved)
            // From the cache, without a statement.
            let cached = try service.cachedCaller(.token(token), for: Actions.recordSave.description)
            #expect(cached == ann.unproved)
            try await expectError(.notAuthenticated) { try await service.authenticate(.token(token), for: .key) }
            // Another service has another key, and this one's key signs no tokens of others.
            try await expectError(.accessTokenNotAccepted) {
                try await fixture.service.authenticate(.token(token), for: .user)
            }
            fixture.clock.advance(by: .seconds(5))
            try await expectError(.accessTokenNotAccepted) { try await service.authenticate(.token(token), for: .user) }
            // A disabled user's token is as good as the user's session.
            let other = try #require(service.functionContext(of: Call(by: ann)).token)
            try await fixture.psql("UPDATE _user SET disabled = true WHERE id = '\(user)'")
            fixture.clock.advance(by: .seconds(2))
            try await expectError(.userDisabled) { try await service.authenticate(.token(other), for: .user) }
        }
    }

    @Test func nobodyGetsATokenThatIsNobody() async throws {
        try await withService { fixture in
            let service = fixture.withFunctions(ScriptedFunctions(), [("main", registration())])
            for caller in [Caller.anonymous, ServiceFixture.masterCaller] {
                let context = service.functionContext(of: Call(by: caller))
                #expect(context.token == nil && context.userID == nil)
            }
            let unknown = CallToken(user: "nobody", depth: 1, end: .infinity)
            let text = try #require(service.functions.tokenKey?.text(of: unknown))
            try await expectError(.accessTokenNotAccepted) { try await service.authenticate(.token(text), for: .user) }
        }
    }

    @Test(arguments: [(0, true), (4, true), (5, false), (6, false)])
    func atMostFiveFunctionsCallEachOther(depth: Int, isGranted: Bool) async throws {
        try await withService { fixture in
            let runner = ScriptedFunctions()
            let service = fixture.withFunctions(runner, [("main", registration(functions: [function("hello")]))])
            let call = Call(by: .anonymous, functionDepth: depth)
            let invocation = FunctionInvocation("hello")
            if isGranted {
                _ = try await service.perform(Actions.functionCall, invocation, call)
                #expect(runner.calls.map(\.context.depth) == [depth + 1])
            } else {
                let error = try await expectError(.invalidArgument) {
                    try await service.perform(Actions.functionCall, invocation, call).text
                }
                #expect(error?.message.contains("calls itself too deeply") == true)
                #expect(runner.calls.isEmpty)
            }
        }
    }
}
