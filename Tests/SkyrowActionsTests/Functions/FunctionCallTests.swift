import SkyrowConcurrency
import SkyrowModel
import SkyrowProtocol
import SkyrowStore
import SkyrowTestSupport
import Synchronization
import Testing

@testable import SkyrowActions

@Suite struct FunctionCallTests {
    private static let hello = registration(functions: [function("hello"), function("mine", need: .user)])

    @Test func aFunctionGetsItsArgumentsAndItsCaller() async throws {
        try await withService { fixture in
            let runner = ScriptedFunctions { _ in .value(json(#"{"a": [1, 2.50]}"#)) }
            let service = fixture.withFunctions(runner, [("main", Self.hello)])
            let (_, ann) = try await fixture.service.signUp("ann")
            let call = Call(
                by: ann,
                with: ServiceFixture.key,
                from: RequestOrigin(address: "192.0.2.1", userAgent: nil, requestID: "r1")
            )
            let result = try await service.perform(
                Actions.functionCall,
                FunctionInvocation("mine", #"{"n": 1.0}"#),
                call
            )
            // As the function wrote it.
            #expect(result.text == #"{"a": [1, 2.50]}"#)
            let made = try #require(runner.calls.first)
            guard case .function(let name, let arguments) = made.content else {
                Issue.record("\(made.content)")
                return
            }
            #expect(made.server == "main" && name.rawValue == "mine" && arguments == json(#"{"n": 1.0}"#))
            #expect(made.context.userID == ann.userID && made.context.keyKind == .client && made.context.depth == 1)
            #expect(made.context.requestID == "r1" && made.context.clientAddress == "192.0.2.1")
        }
    }

    @Test func whatCannotBeCalledIsRefusedBeforeTheServerIsAsked() async throws {
        try await withService { fixture in
            let runner = ScriptedFunctions()
            let service = fixture.withFunctions(runner, [("main", Self.hello)])
            let rows: [(FunctionInvocation, ErrorCode)] = [
                (FunctionInvocation("unknown"), .resourceNotFound),
                (FunctionInvocation("mine"), .notAuthenticated),
                (FunctionInvocation(functionName("hello"), query: json(#"{"limit":1}"#)), .invalidArgument),
            ]
            for (invocation, code) in rows {
                try await expectError(code) {
                    try await service.perform(Actions.functionCall, invocation, Call(by: .anonymous)).text
                }
            }
            #expect(runner.calls.isEmpty)
            // Without a runner, as in a process that has no function servers.
            let alone = fixture.configured { _ in }
            alone.functions.replace(FunctionRegistry(servers: [("main", Self.hello)], database: []))
            try await expectError(.pluginUnavailable) {
                try await alone.perform(Actions.functionCall, FunctionInvocation("hello"), Call(by: .anonymous)).text
            }
        }
    }

    @Test func theErrorOfAFunctionReachesItsCaller() async throws {
        try await withService { fixture in
            let refusal = SkyrowError(ErrorCode(rawValue: 20_001), "No more seats.", info: ["left": .integer(0)])
            let runner = ScriptedFunctions { _ throws(SkyrowError) in throw refusal }
            let service = fixture.withFunctions(runner, [("main", Self.hello)])
            let error = try await expectError(ErrorCode(rawValue: 20_001)) {
                try await service.perform(Actions.functionCall, FunctionInvocation("hello"), Call(by: .anonymous)).text
            }
            #expect(error == refusal)
        }
    }

    @Test func aRateLimitIsThatOfAClientAndNotOfTheMasterKey() async throws {
        try await withService { fixture in
            var limited = function("hello")
            limited.rateLimit = 2
            let service = fixture.withFunctions(ScriptedFunctions(), [("main", registration(functions: [limited]))])
            let invocation = FunctionInvocation("hello")
            let first = Call(by: .anonymous, client: ClientKey(high: 1, low: 1))
            for _ in 0..<2 { _ = try await service.perform(Actions.functionCall, invocation, first) }
            try await expectError(.rateLimited) {
                try await service.perform(Actions.functionCall, invocation, first).text
            }
            let second = Call(by: .anonymous, client: ClientKey(high: 2, low: 1))
            _ = try await service.perform(Actions.functionCall, invocation, second)
            let master = Call(by: ServiceFixture.masterCaller, client: ClientKey(high: 1, low: 1))
            for _ in 0..<3 { _ = try await service.perform(Actions.functionCall, invocation, master) }
        }
    }

    // MARK: Idempotency

    @Test func aRetryGetsTheFirstResultAndOtherCallersOthers() async throws {
        try await withService { fixture in
            let number = Counter()
            let runner = ScriptedFunctions { _ in
                number.increment()
                return .value(json("\(number.value)"))
            }
            let service = fixture.withFunctions(runner, [("main", Self.hello)])
            func call(_ invocation: FunctionInvocation, _ caller: Caller = .anonymous) async throws -> String {
                try await service.perform(Actions.functionCall, invocation, Call(by: caller)).text
            }
            for _ in 0..<2 {
                let text = try await call(FunctionInvocation("hello", #"{"n":1}"#, key: "k"))
                #expect(text == "1")
            }
            let master = try await call(FunctionInvocation("hello", #"{"n":1}"#, key: "k"), ServiceFixture.masterCaller)
            #expect(master == "2")
            let unkeyed = try await call(FunctionInvocation("hello", #"{"n":1}"#))
            #expect(unkeyed == "3")
            try await expectError(.idempotencyKeyReused) {
                try await call(FunctionInvocation("hello", #"{"n":2}"#, key: "k"))
            }
            try await fixture.psql("UPDATE _idempotency SET created_at = now() - interval '25 hours'")
            let later = try await call(FunctionInvocation("hello", #"{"n":1}"#, key: "k"))
            #expect(later == "4")
        }
    }

    @Test func aFailureFreesTheKey() async throws {
        try await withService { fixture in
            let number = Counter()
            let runner = ScriptedFunctions { _ throws(SkyrowError) in
                number.increment()
                guard number.value > 1 else { throw SkyrowError(.pluginTimeout, "It took too long.") }
                return .value(json("true"))
            }
            let service = fixture.withFunctions(runner, [("main", Self.hello)])
            let invocation = FunctionInvocation("hello", nil, key: "k")
            try await expectError(.pluginTimeout) {
                try await service.perform(Actions.functionCall, invocation, Call(by: .anonymous)).text
            }
            #expect(try await fixture.psql("SELECT count(*) FROM _idempotency") == "0")
            let result = try await service.perform(Actions.functionCall, invocation, Call(by: .anonymous))
            #expect(result.text == "true")
        }
    }

    @Test func aRetryDuringTheFirstCallIsRefusedAndNoTransactionIsOpen() async throws {
        try await withService { fixture in
            let (started, finish) = (Deferred<Void>(), Deferred<Void>())
            let runner = ScriptedFunctions { _ in
                started.settle()
                await finish.value(ifCancelled: ())
                return .value(json("1"))
            }
            let service = fixture.withFunctions(runner, [("main", Self.hello)])
            let invocation = FunctionInvocation("hello", nil, key: "k")
            async let first = service.perform(Actions.functionCall, invocation, Call(by: .anonymous)).text
            await started.value(ifCancelled: ())
            try await expectError(.conflict) {
                try await service.perform(Actions.functionCall, invocation, Call(by: .anonymous)).text
            }
            let open = try await fixture.psql(
                "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND state LIKE 'idle in transaction%'"
            )
            #expect(open == "0")
            finish.settle()
            let text = try await first
            #expect(text == "1")
            let replay = try await service.perform(Actions.functionCall, invocation, Call(by: .anonymous))
            #expect(replay.text == "1" && runner.calls.count == 1)
        }
    }

    @Test func aLeaseThatHasEndedIsTakenOver() async throws {
        try await withService { fixture in
            let table = fixture.service.store.idempotency
            let first = try await table.lease("k", scope: "s", fingerprint: [1], for: .seconds(60))
            guard case .taken(let end) = first else {
                Issue.record("\(first)")
                return
            }
            let running = try await table.lease("k", scope: "s", fingerprint: [1], for: .seconds(60))
            #expect(running == .running)
            try await expectError(.idempotencyKeyReused) {
                try await table.lease("k", scope: "s", fingerprint: [2], for: .seconds(60))
            }
            try await fixture.psql("UPDATE _idempotency SET leased_until = now() - interval '1 s'")
            let second = try await table.lease("k", scope: "s", fingerprint: [1], for: .seconds(60))
            guard case .taken(let later) = second else {
                Issue.record("\(second)")
                return
            }
            // The first one is late, and changes nothing.
            try await table.complete("k", scope: "s", result: Array("1".utf8), until: end)
            try await table.release("k", scope: "s", until: end)
            try await table.complete("k", scope: "s", result: Array("2".utf8), until: later)
            let replay = try await table.lease("k", scope: "s", fingerprint: [1], for: .seconds(60))
            #expect(replay == .completed(Array("2".utf8)))
        }
    }

    // MARK: The list

    @Test func theListHasStatesAndCounts() async throws {
        try await withService { fixture in
            let runner = ScriptedFunctions(states: [("main", .ready), ("mail", .down("It does not answer."))]) {
                call throws(SkyrowError) in
                if case .function(let name, _) = call.content, name.rawValue == "mine" { throw .unexpected }
                return .value(json("1"))
            }
            let main = registration(functions: [function("hello"), function("mine", need: .roles(["editor"]))]) {
                $0.hooks = [HookDescription("check", .beforeSave, on: type("note"))]
                $0.handlers = [HandlerDescription(path: "/web/", name: "web:", methods: ["POST", "GET"], need: .key)]
            }
            let service = fixture.withFunctions(runner, [("main", main), ("mail", registration())])
            let master = Call(by: ServiceFixture.masterCaller)
            for _ in 0..<3 { _ = try await service.perform(Actions.functionCall, FunctionInvocation("hello"), master) }
            try await expectError(.unexpectedError) {
                try await service.perform(Actions.functionCall, FunctionInvocation("mine"), master).text
            }
            let list = try await service.perform(Actions.functionList, (), master)
            #expect(list.servers.map(\.state) == ["ready", "down"] && list.servers[1].reason == "It does not answer.")
            #expect(list.functions.map(\.name) == ["hello", "mine"])
            #expect(list.functions.map(\.counts.calls) == [3, 1] && list.functions.map(\.counts.errors) == [0, 1])
            #expect(list.functions[0].counts.median != nil && list.functions[1].roles == ["editor"])
            #expect(list.hooks.map(\.detail) == ["beforeSave"] && list.hooks.map(\.type) == ["note"])
            #expect(list.handlers.map(\.detail) == ["GET POST"] && list.handlers.map(\.need) == ["key"])
        }
    }

    @Test(arguments: [
        (Duration.zero, 2), (.microseconds(1), 2), (.microseconds(2), 3), (.microseconds(3), 4),
        (.microseconds(100), 128),
        (.milliseconds(1), 1024), (.seconds(100_000), 1 << 32),
    ])
    func aTimeIsOfAStepOfTheScale(time: Duration, end: Int) {
        #expect(CallHistogram.end(of: CallHistogram.bucket(of: time)) == end)
    }

    @Test func quantilesAreThoseOfTheCalls() {
        var histogram = CallHistogram()
        #expect(histogram.counts == CallCounts())
        for number in 0..<100 {
            histogram.note(number < 98 ? .microseconds(100) : .milliseconds(1), failed: number == 0)
        }
        #expect(histogram.counts == CallCounts(calls: 100, errors: 1, median: 128, p99: 1024))
    }

    // MARK: Signing in

    @Test func aProviderOfAFunctionServerLogsIn() async throws {
        try await withService { fixture in
            let runner = ScriptedFunctions { call throws(SkyrowError) in
                guard case .provider("com.example", let data) = call.content, data == json(#"{"pin":1}"#) else {
                    throw SkyrowError(.unexpectedError, "There is no such account.")
                }
                return .principal("ann", authData: json(#"{"name":"Ann"}"#))
            }
            let service = fixture.withFunctions(runner, [("main", registration { $0.providers = ["com.example"] })])
            func logIn(_ provider: String, _ data: String) async throws -> AuthResult {
                var request = LogInRequest(authData: [:], password: "")
                request.provider = FunctionProviderLogIn(
                    provider: provider,
                    authData: json(data),
                    device: SessionDevice()
                )
                return try await service.perform(Actions.authLogIn, request, Call(by: .anonymous))
            }
            let first = try await logIn("com.example", #"{"pin":1}"#)
            let second = try await logIn("com.example", #"{"pin":1}"#)
            #expect(first.userID == second.userID && first.accessToken != second.accessToken)
            #expect(try await fixture.psql("SELECT provider || ':' || subject FROM _identity") == "com.example:ann")
            let error = try await expectError(.invalidCredentials) { try await logIn("com.example", "{}") }
            #expect(error?.message.contains("such account") == false)
            try await expectError(.invalidArgument) { try await logIn("com.other", "{}") }
        }
    }
}
