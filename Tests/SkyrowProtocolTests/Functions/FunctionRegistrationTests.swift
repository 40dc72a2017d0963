import SkyrowJSON
import SkyrowModel
import SkyrowTestSupport
import Testing

@testable import SkyrowProtocol

@Suite struct FunctionRegistrationTests {
    private func reading(_ answer: String) throws -> FunctionRegistration {
        let bytes = Array(answer.utf8)
        return try bytes.withUnsafeBytes { try FunctionRegistration(answer: $0, reserved: ["record:save"]) }
    }

    /// The answer to `init` of py-skygear, with a keyword argument of a decorator.
    @Test func theAnswerOfPySkygearIsRead() throws {
        let registration = try reading(
            #"""
            {"result": {
              "op": [{"name": "hello:world", "key_required": false, "user_required": false, "roles": ["ignored"]},
                     {"name": "a", "key_required": true}, {"name": "b", "key_required": true, "user_required": true}],
              "hook": [{"name": "app.check", "type": "note", "trigger": "beforeSave", "async": false, "batch": 7},
                       {"name": "app.log", "type": "*", "trigger": "afterDelete", "async": true}],
              "handler": [{"name": "web:hello", "methods": ["GET"], "key_required": false, "user_required": false},
                          {"name": "web:hello", "methods": ["POST"], "key_required": false, "user_required": false},
                          {"name": "files/", "methods": ["get"], "user_required": true}],
              "timer": [{"name": "tick", "spec": "@every 2s"}],
              "event": [{"name": "init", "extra": 1}, {"name": "schema-changed"}, {"name": "init"}],
              "provider": [{"type": "auth", "id": "com.example", "name": "com.example"}]}}
            """#
        )
        #expect(registration.dialect == .skygear)
        #expect(registration.functions.map(\.name.rawValue) == ["hello:world", "a", "b"])
        #expect(registration.functions.map(\.need) == [.nothing, .key, .user])
        var check = HookDescription("app.check", .beforeSave, on: typeName("note"))
        var log = HookDescription("app.log", .afterDelete, on: nil)
        log.isAsync = true
        check.batch = 1
        #expect(registration.hooks == [check, log])
        #expect(
            registration.handlers == [
                HandlerDescription(path: "/web/hello", name: "web:hello", methods: ["GET", "POST"]),
                HandlerDescription(path: "/files/", name: "files/", methods: ["GET"], need: .user),
            ]
        )
        #expect(registration.timers.map(\.spec.text) == ["@every 2s"])
        #expect(registration.events == ["init", "schema-changed"])
        #expect(registration.providers == ["com.example"])
    }

    @Test func theAnswerOfSkyrowIsRead() throws {
        let registration = try reading(
            #"""
            {"result": {"protocol": "skyrow/1",
              "op": [{"name": "best", "summary": "Returns the best.", "roles": ["player"], "timeout": "1m30s", "read_only": true,
                      "rate_limit": 60, "params": {"type": "object"}, "result": {"type": "array"}},
                     {"name": "a", "administrator": true, "roles": ["x"]}, {"name": "m", "master": true, "user_required": true}],
              "hook": [{"name": "h", "type": "note", "trigger": "beforeSave", "when": ["create"], "fields": ["title", "body"],
                        "batch": 10, "required": false, "timeout": "500ms"},
                       {"name": "all", "type": "*", "trigger": "afterFetch"}, {"name": "query", "type": "note", "trigger": "beforeQuery"},
                       {"name": "login", "trigger": "beforeLogin"}, {"name": "later", "type": "note", "trigger": "afterSave", "async": true}]}}
            """#
        )
        #expect(registration.dialect == .skyrow)
        let best = try #require(registration.functions.first)
        #expect(best.need == .roles(["player"]))
        #expect(best.summary == "Returns the best.")
        #expect(best.timeout == .seconds(90))
        #expect(best.isReadOnly)
        #expect(best.rateLimit == 60)
        #expect(best.parameters != nil)
        #expect(best.result == JSONText(validated: Array(#"{"type":"array"}"#.utf8)))
        #expect(registration.functions.dropFirst().map(\.need) == [.administrator, .master])
        let hook = try #require(registration.hooks.first)
        #expect(hook.when == [.create])
        #expect(hook.fields == [fieldName("title"), fieldName("body")])
        #expect(hook.batch == 10)
        #expect(!hook.isRequired)
        #expect(hook.timeout == .milliseconds(500))
        #expect(registration.hooks.map(\.batch) == [10, 100, 1, 1, 100])
        #expect(registration.hooks.map(\.type) == [typeName("note"), nil, typeName("note"), .user, typeName("note")])
    }

    @Test(
        arguments: [
            ("", "JSON"), ("[]", "no result"), ("{}", "no result"), (#"{"result": null}"#, "no result"),
            (#"{"error": {"code": 10000, "message": "No module"}}"#, "No module"),
            (#"{"result": {"protocol": "skyrow/2"}}"#, "another protocol"),
            (#"{"result": {"protocol": 1}}"#, "another protocol"),
            (#"{"result": {"op": {}}}"#, "\"op\""), (#"{"result": {"op": [1]}}"#, "op number 1"),
            (#"{"result": {"op": [{}]}}"#, "op number 1"), (#"{"result": {"op": [{"name": "1a"}]}}"#, "op \"1a\""),
            (#"{"result": {"op": [{"name": "record:save"}]}}"#, "op \"record:save\" has the name of a built-in action"),
            (#"{"result": {"op": [{"name": "a"}, {"name": "a"}]}}"#, "op \"a\" is registered twice"),
            (#"{"result": {"op": [{"name": "a", "user_required": "no"}]}}"#, "user_required"),
            (#"{"result": {"hook": [{"name": "h", "type": "note", "trigger": "beforeFlight"}]}}"#, "\"beforeFlight\""),
            (#"{"result": {"hook": [{"name": "h", "type": "note"}]}}"#, "trigger"),
            (#"{"result": {"hook": [{"name": "h", "type": "note", "trigger": "beforeQuery"}]}}"#, "skyrow/1"),
            (#"{"result": {"hook": [{"name": "h", "type": "user", "trigger": "beforeLogin"}]}}"#, "skyrow/1"),
            (#"{"result": {"hook": [{"name": "h", "trigger": "beforeSave"}]}}"#, "type"),
            (#"{"result": {"hook": [{"name": "h", "type": "_note", "trigger": "beforeSave"}]}}"#, "hook \"h\""),
            (
                #"{"result": {"hook": [{"name": "h", "type": "a", "trigger": "beforeSave"}, {"name": "h", "type": "b", "trigger": "afterSave"}]}}"#,
                "hook \"h\" is registered twice"
            ),
            (
                #"{"result": {"timer": [{"name": "t", "spec": "61 * * * * *"}]}}"#,
                "timer \"t\" has an illegal spec. The second"
            ),
            (#"{"result": {"timer": [{"name": "t"}]}}"#, "spec"),
            (#"{"result": {"handler": [{"name": "a"}]}}"#, "methods"),
            (#"{"result": {"handler": [{"name": "a", "methods": ["G T"]}]}}"#, "methods"),
            (#"{"result": {"handler": [{"name": "a::b", "methods": ["GET"]}]}}"#, "handler \"a::b\""),
            (#"{"result": {"handler": [{"name": "a:..", "methods": ["GET"]}]}}"#, "handler \"a:..\""),
            (#"{"result": {"handler": [{"name": "/", "methods": ["GET"]}]}}"#, "handler \"/\""),
            (#"{"result": {"handler": [{"name": "a b", "methods": ["GET"]}]}}"#, "handler \"a b\""),
            (
                #"{"result": {"handler": [{"name": "a:b", "methods": ["GET"]}, {"name": "a/b", "methods": ["PUT"]}]}}"#,
                "handler \"a/b\" is registered twice"
            ),
            (
                #"{"result": {"handler": [{"name": "a", "methods": ["GET", "PUT"]}, {"name": "a", "methods": ["GET"]}]}}"#,
                "handler \"a\" is registered twice"
            ),
            (
                #"{"result": {"handler": [{"name": "a", "methods": ["GET"]}, {"name": "a", "methods": ["PUT"], "key_required": true}]}}"#,
                "handler \"a\" requires"
            ),
            (#"{"result": {"provider": [{"type": "mail", "id": "x"}]}}"#, "\"auth\""),
            (#"{"result": {"provider": [{"type": "auth"}]}}"#, "\"id\""),
            (
                #"{"result": {"provider": [{"type": "auth", "id": "x"}, {"type": "auth", "id": "x"}]}}"#,
                "registered twice"
            ),
            (#"{"result": {"event": [{"name": "a\u0000"}]}}"#, "name"),
        ]
    )
    func answersAreRefused(answer: String, reason: String) {
        let fault = #expect(throws: RegistrationFault.self) { try reading(answer) }
        #expect(fault?.description.contains(reason) == true, "\(answer): \(fault?.description ?? "")")
    }

    @Test(
        arguments: [
            (#""ops": []"#, "\"ops\""),
            (#""op": [{"name": "a", "role": "x"}]"#, "op \"a\" has the unknown member \"role\""),
            (#""op": [{"name": "a", "roles": []}]"#, "roles"),
            (#""op": [{"name": "a", "roles": ["x", "x"]}]"#, "roles"),
            (#""op": [{"name": "a", "timeout": 10}]"#, "timeout"),
            (#""op": [{"name": "a", "timeout": "0s"}]"#, "timeout"),
            (#""op": [{"name": "a", "timeout": "16m"}]"#, "timeout"),
            (#""op": [{"name": "a", "rate_limit": 0}]"#, "rate_limit"),
            (#""op": [{"name": "a", "params": {"type": "x"}}]"#, "params.type"),
            (#""op": [{"name": "a", "result": 1}]"#, "result"),
            (#""hook": [{"name": "h", "type": "note", "trigger": "beforeSave", "async": true}]"#, "asynchronous"),
            (#""hook": [{"name": "h", "type": "note", "trigger": "beforeSave", "when": ["delete"]}]"#, "when"),
            (#""hook": [{"name": "h", "type": "note", "trigger": "beforeDelete", "when": ["create"]}]"#, "when"),
            (#""hook": [{"name": "h", "type": "note", "trigger": "afterFetch", "fields": ["a"]}]"#, "fields"),
            (#""hook": [{"name": "h", "type": "note", "trigger": "beforeSave", "fields": ["_id"]}]"#, "fields"),
            (#""hook": [{"name": "h", "type": "note", "trigger": "beforeSave", "batch": 101}]"#, "batch"),
            (#""hook": [{"name": "h", "type": "note", "trigger": "beforeLogin"}]"#, "\"user\""),
            (#""timer": [{"name": "t", "spec": "@daily", "time_zone": "UTC"}]"#, "time_zone"),
        ]
    )
    func answersOfSkyrowAreStricter(members: String, reason: String) {
        let fault = #expect(throws: RegistrationFault.self) {
            try reading(#"{"result": {"protocol": "skyrow/1", "# + members + "}}")
        }
        #expect(fault?.description.contains(reason) == true, "\(members): \(fault?.description ?? "")")
    }

    @Test func listsHaveBounds() throws {
        func functions(_ count: Int) -> String {
            #"{"result": {"op": ["# + (0..<count).map { #"{"name": "f\#($0)"}"# }.joined(separator: ",") + "]}}"
        }
        let most = try reading(functions(1000))
        #expect(most.functions.count == 1000)
        #expect(throws: RegistrationFault.self) { try reading(functions(1001)) }
        let long = String(repeating: "x", count: FunctionRegistration.maximumBytes)
        #expect(throws: RegistrationFault.self) { try reading(#"{"result": {"x": "\#(long)"}}"#) }
        let deep = String(repeating: "[", count: 100_000)
        #expect(throws: RegistrationFault.self) { try reading(deep) }
    }

    // MARK: Stored form

    @Test func registrationsAreReadAsTheyWereStored() throws {
        var random = SeededGenerator.forTest()
        for _ in 0..<seededCases(200) {
            let registration = try Self.drawn(&random)
            let stored = registration.stored
            let again = FunctionRegistration(stored: stored)
            #expect(again == registration, "\(String(decoding: stored.utf8, as: UTF8.self))")
        }
    }

    @Test(arguments: [
        "", "[]", "{}", #"{"protocol":"skyrow/1"}"#, #"{"protocol":"skyrow/2","dialect":"skyrow"}"#,
        #"{"protocol":"skyrow/1","dialect":"other"}"#, #"{"protocol":"skyrow/1","dialect":"skyrow","jobs":[]}"#,
        #"{"protocol":"skyrow/1","dialect":"skyrow","op":[{"name":"a","job":true}]}"#,
    ])
    func whatAnotherVersionStoredIsNotRead(text: String) {
        #expect(FunctionRegistration(stored: JSONText(validated: Array(text.utf8))) == nil)
    }

    private static func drawn(_ random: inout SeededGenerator) throws -> FunctionRegistration {
        func chance() -> Bool { Bool.random(using: &random) }
        func number(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &random) }
        let needs: [FunctionNeed] = [.nothing, .key, .user, .roles(["b", "a"]), .administrator, .master]
        let dialect: FunctionDialect = chance() ? .skyrow : .skygear
        let isSkyrow = dialect == .skyrow
        var registration = FunctionRegistration(dialect: dialect)
        for place in 0..<number(0...4) {
            var function = FunctionDescription(
                try FunctionName("f\(place):x"),
                need: needs[number(0...(isSkyrow ? 5 : 2))]
            )
            if isSkyrow {
                if chance() { function.summary = "Käse \"\(place)\"." }
                if chance() {
                    function.parameters = try readJSON(#"{"properties":{"b":{},"a":{"default":1e2}}}"#) {
                        try ParameterSchema($0)
                    }
                }
                if chance() { function.result = JSONText(validated: Array(#"{"type":"string"}"#.utf8)) }
                if chance() { function.timeout = .nanoseconds(number(1...900_000_000_000)) }
                function.isReadOnly = chance()
                if chance() { function.rateLimit = number(1...1_000_000) }
            }
            registration.functions.append(function)
        }
        let triggers = HookTrigger.allCases.filter { isSkyrow || !$0.needsSkyrowDialect }
        for place in 0..<number(0...6) {
            let trigger = triggers[number(0...(triggers.count - 1))]
            let type: RecordTypeName? = trigger.isOfAccounts ? .user : chance() ? typeName("note") : nil
            var hook = HookDescription("app.h\(place)", trigger, on: type)
            hook.isAsync = chance() && (!isSkyrow || trigger == .afterSave || trigger == .afterLogout)
            if isSkyrow {
                hook.batch = number(1...100)
                if trigger == .afterSave || trigger == .beforeSave {
                    if chance() { hook.when = [.update] }
                    if chance() { hook.fields = [fieldName("b"), fieldName("a"), .parent] }
                }
                hook.isRequired = chance()
                if chance() { hook.timeout = .milliseconds(number(1...5000)) }
            }
            registration.hooks.append(hook)
        }
        for place in 0..<number(0...3) {
            registration.handlers.append(
                HandlerDescription(
                    path: "/web\(place)/x/",
                    name: "web\(place):x/",
                    methods: chance() ? ["GET", "PUT"] : ["POST"],
                    need: needs[number(0...(isSkyrow ? 5 : 2))]
                )
            )
        }
        for place in 0..<number(0...2) {
            registration.timers.append(TimerDescription(name: "t\(place)", spec: try CronSpec("*/5 * * * MON")))
        }
        registration.providers = chance() ? ["com.example", "b"] : []
        registration.events = chance() ? ["init", "schema-changed"] : []
        return registration
    }
}
