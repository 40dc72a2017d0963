import SkyrowJSON
import SkyrowModel
import SkyrowTestSupport
import Testing

@testable import SkyrowProtocol

/// The answers of function servers.
@Suite struct FunctionAnswerTests {
    private static let failed = SkyrowError(.unexpectedError, "The function failed.")
    private static let function = try! FunctionCall.Content.function(FunctionName("hello"), arguments: nil)
    private static let handler = FunctionCall.Content.handler(
        HandlerRequest(name: "a", method: "GET", path: "/a", query: "", fields: [], body: [])
    )
    private static let provider = FunctionCall.Content.provider("p", authData: JSONText(validated: Array("{}".utf8)))

    private static func hook(_ trigger: HookTrigger, isAsync: Bool = false, count: Int = 1) -> FunctionCall.Content {
        var hook = HookDescription("h", trigger, on: typeName("note"))
        hook.isAsync = isAsync
        return .hook(hook, .records((0..<count).map { HookedRecord(Record(id: recordID("note/\($0)"))) }))
    }

    private func answer(
        _ text: String,
        to content: FunctionCall.Content = Self.function,
        _ dialect: FunctionDialect = .skygear
    ) throws(FunctionFailure) -> FunctionAnswer {
        let call = FunctionCall(content, of: "main", context: FunctionContext())
        let bytes = Array(text.utf8)
        let outcome = bytes.withUnsafeBytes { bytes in
            Result { () throws(FunctionFailure) in try FunctionEnvelope(dialect).read(bytes, to: call) }
        }
        return try outcome.get()
    }

    private func failure(
        _ text: String,
        to content: FunctionCall.Content = Self.function,
        _ dialect: FunctionDialect = .skygear
    ) -> FunctionFailure? {
        do throws(FunctionFailure) {
            _ = try answer(text, to: content, dialect)
            return nil
        } catch {
            return error
        }
    }

    private func verdicts(
        _ text: String,
        to content: FunctionCall.Content,
        _ dialect: FunctionDialect = .skyrow
    ) throws -> [HookVerdict]? {
        guard case .records(let verdicts) = try answer(text, to: content, dialect) else { return nil }
        return verdicts
    }

    @Test(
        arguments: [
            (#"{"result":null}"#, "null"), (#"{"result":{"a":[1]},"error":null}"#, #"{"a":[1]}"#),
            (#"{"result":"x"}"#, #""x""#),
        ]
    )
    func resultsAreRead(text: String, result: String) throws {
        guard case .value(let value) = try answer(text) else {
            Issue.record("\(text) is no result")
            return
        }
        #expect(String(decoding: value.utf8, as: UTF8.self) == result)
    }

    @Test(
        arguments: [
            (#"{"error":{"code":102,"message":"No."}}"#, SkyrowError(.permissionDenied, "No.")),
            (
                #"{"error":{"code":20001,"message":"No.","info":{"n":1,"f":1.5,"s":"x","b":true,"l":["a"],"o":{"a":null}}}}"#,
                SkyrowError(
                    ErrorCode(rawValue: 20001),
                    "No.",
                    info: [
                        "n": .integer(1), "f": .json(JSONText(validated: Array("1.5".utf8))), "s": .string("x"),
                        "b": .boolean(true),
                        "l": .list([.string("a")]), "o": .json(JSONText(validated: Array(#"{"a":null}"#.utf8))),
                    ]
                )
            ),
            (#"{"error":{"code":-7,"message":""}}"#, SkyrowError(ErrorCode(rawValue: -7), "The function failed.")),
            (
                #"{"error":{"code":4242,"info":null},"result":1}"#,
                SkyrowError(ErrorCode(rawValue: 4242), "The function failed.")
            ),
            (#"{"error":{"code":101,"message":"x","info":{"trace":"secret"}}}"#, SkyrowError(.notAuthenticated, "x")),
            // What is unexpected shows nothing.
            (#"{"error":{"code":10000,"message":"SELECT secret","info":{"trace":"secret","n":1}}}"#, failed),
            (#"{"error":{"code":0,"message":"secret"}}"#, failed), (#"{"error":{"message":"secret"}}"#, failed),
            (#"{"error":{"code":null}}"#, failed), (#"{"error":{}}"#, failed), (#"{"error":"secret"}"#, failed),
            (#"{"error":{"code":"102"}}"#, failed), (#"{"error":{"code":1.5}}"#, failed),
            (#"{"error":{"code":1e30}}"#, failed),
            ("", failed), ("Internal Server Error", failed), ("[]", failed), ("null", failed), ("{}", failed),
            (#"{"resul":1}"#, failed), (#"{"result":1"#, failed), (#"{"result":1}{}"#, failed),
            (String(repeating: "[", count: 10_000), failed),
        ]
    )
    func failuresAreRead(text: String, error: SkyrowError) {
        #expect(failure(text)?.error == error)
    }

    @Test func detailsAreKeptApart() {
        let found = failure(#"{"error":{"message":"'name'","info":{"trace":"File app.py","n":1}}}"#)
        #expect(found?.error == Self.failed)
        #expect(found?.detailed == SkyrowError(.unexpectedError, "'name'", info: ["n": .integer(1)]))
        #expect(found?.trace == "File app.py")
        let garbage = failure("x")
        #expect(garbage?.detailed.message.contains("at byte 0") == true)
        #expect(garbage?.trace == nil)
    }

    @Test func infoIsSentAsItCame() {
        let info = #"{"f":1.5,"l":["a"],"n":1,"o":{"a":[null]},"z":null}"#
        let found = failure(#"{"error":{"code":102,"message":"No.","info":\#(info)}}"#)
        let text = found.map { found in writtenJSON { $0.error(found.error) } }
        #expect(text == #"{"name":"PermissionDenied","code":102,"message":"No.","info":\#(info)}"#)
    }

    @Test func callersWithoutALogGetTheErrorAlone() {
        let call = FunctionCall(Self.function, of: "main", context: FunctionContext())
        let bytes = Array(#"{"error":{"code":102,"message":"No."}}"#.utf8)
        let outcome = bytes.withUnsafeBytes { bytes in
            Result { () throws(SkyrowError) in try FunctionEnvelope(.skygear).answer(bytes, to: call) }
        }
        let error = #expect(throws: SkyrowError.self) { try outcome.get() }
        #expect(error?.code == .permissionDenied)
    }

    // MARK: Hooks

    @Test func onlyBeforeSaveOfSkygearChanges() throws {
        let record = #"{"result":{"_id":"note/0","title":"x"}}"#
        let set: [FieldName: RecordValue?] = [fieldName("title"): .string("x")]
        let changed = try verdicts(record, to: Self.hook(.beforeSave), .skygear)
        #expect(changed == [.accepted(set: set, access: nil)])
        for trigger in [HookTrigger.afterSave, .beforeDelete, .afterDelete] {
            let ignored = try verdicts(record, to: Self.hook(trigger), .skygear)
            #expect(ignored == [.unchanged])
        }
        let later = try verdicts(record, to: Self.hook(.beforeSave, isAsync: true), .skygear)
        #expect(later == [.unchanged])
        #expect(failure(#"{"result":[]}"#, to: Self.hook(.beforeSave))?.error == Self.failed)
        #expect(failure("{}", to: Self.hook(.beforeSave))?.error == Self.failed)
    }

    @Test func answersOfSkyrowAreOneForEachRecord() throws {
        let three = try verdicts(
            #"{"result":[{},{"set":{"a":1}},{"error":{"code":102,"message":"No."}}]}"#,
            to: Self.hook(.beforeSave, count: 3)
        )
        #expect(
            three == [
                .unchanged, .accepted(set: [fieldName("a"): .integer(1)], access: nil),
                .refused(SkyrowError(.permissionDenied, "No.")),
            ]
        )
        let after = try verdicts(#"{"result":null}"#, to: Self.hook(.afterSave, count: 2))
        #expect(after == [.unchanged, .unchanged])
        for text in ["[]", "[{}]", "[{},{},{}]", "null", "{}", "[{},1]", #"[{},{"sett":{}}]"#] {
            let found = failure(#"{"result":\#(text)}"#, to: Self.hook(.beforeSave, count: 2), .skyrow)
            #expect(found?.error == Self.failed, "\(text)")
        }
    }

    @Test(
        arguments: [
            ("null", QueryVerdict()), ("{}", QueryVerdict()),
            (#"{"limit":5,"predicate":null}"#, QueryVerdict(limit: 5)),
            (
                #"{"predicate":["eq",1,1]}"#,
                QueryVerdict(predicate: JSONText(validated: Array(#"["eq",1,1]"#.utf8)))
            ),
            ("[]", nil), ("1", nil), (#"{"limit":-1}"#, nil), (#"{"limit":"5"}"#, nil), (#"{"predicate":{}}"#, nil),
            (#"{"sort":[]}"#, nil),
        ] as [(String, QueryVerdict?)]
    )
    func verdictsOnQueriesAreRead(result: String, verdict: QueryVerdict?) {
        let content = FunctionCall.Content.hook(
            HookDescription("q", .beforeQuery, on: nil),
            .query(JSONText(validated: Array("{}".utf8)))
        )
        let read = try? answer(#"{"result":\#(result)}"#, to: content, .skyrow)
        if case .query(let found)? = read { #expect(found == verdict) } else { #expect(verdict == nil) }
    }

    @Test func resultsOfEventsAndAccountHooksAreIgnored() throws {
        for text in ["{}", #"{"result":[1]}"#] {
            guard case .nothing = try answer(text, to: .event("schema-changed", nil)) else {
                Issue.record("\(text) has an answer")
                continue
            }
        }
        #expect(
            failure(#"{"error":{"code":102,"message":"No."}}"#, to: .event("e", nil))?.error.code == .permissionDenied
        )
        let login = FunctionCall.Content.hook(
            HookDescription("l", .beforeLogin, on: .user),
            .account(Record(id: recordID("user/ann")))
        )
        guard case .nothing = try answer(#"{"result":null}"#, to: login, .skyrow) else {
            Issue.record("A hook of an account has an answer")
            return
        }
    }

    // MARK: Handlers and providers

    @Test func responsesOfHandlersAreRead() throws {
        let text = #"""
            {"result":{"status":201,"body":"aGk=","header":{"Content-Type":["text/plain"],"Set-Cookie":["a=1","b=2"],"X-One":"1",
             "Content-Length":["5"],"connection":["close"],"Transfer-Encoding":["chunked"]}}}
            """#
        guard case .handler(let response) = try answer(text, to: Self.handler) else {
            Issue.record("The answer has no response")
            return
        }
        #expect(response.status == 201)
        #expect(response.body == Array("hi".utf8))
        let fields = response.fields.map { "\($0.name): \($0.value)" }
        #expect(fields == ["Content-Type: text/plain", "Set-Cookie: a=1", "Set-Cookie: b=2", "X-One: 1"])
        guard case .handler(let empty) = try answer(#"{"result":{}}"#, to: Self.handler) else {
            Issue.record("The answer has no response")
            return
        }
        #expect(empty.status == 200)
        #expect(empty.body.isEmpty)
        #expect(empty.fields.isEmpty)
    }

    @Test(arguments: [
        "null", "\"hi\"", #"{"status":99}"#, #"{"status":600}"#, #"{"status":"200"}"#, #"{"status":200.5}"#,
        #"{"body":"a"}"#,
        #"{"body":1}"#, #"{"body":"aGk"}"#, #"{"header":{"":["x"]}}"#, #"{"header":{"A B":["x"]}}"#,
        #"{"header":{"A\r\nB":["x"]}}"#,
        #"{"header":{"A:":["x"]}}"#, #"{"header":{"Ä":["x"]}}"#, #"{"header":{"A":["x\r\nSet-Cookie: a=1"]}}"#,
        #"{"header":{"A":["x\ny"]}}"#, #"{"header":{"A":["x\u0000"]}}"#, #"{"header":{"A":[1]}}"#,
        #"{"header":{"A":null}}"#,
    ])
    func responsesOfHandlersAreRefused(result: String) {
        #expect(failure(#"{"result":\#(result)}"#, to: Self.handler)?.error == Self.failed)
    }

    @Test func responsesHaveBoundedFields() {
        let values = (0...200).map { "\"\($0)\"" }.joined(separator: ",")
        #expect(failure(#"{"result":{"header":{"A":[\#(values)]}}}"#, to: Self.handler)?.error == Self.failed)
    }

    @Test(
        arguments: [
            (#"{"principal_id":"ann","auth_data":{"a":1}}"#, #"ann {"a":1}"#), (#"{"principal_id":"ann"}"#, "ann {}"),
            (#"{"principal_id":"ann","auth_data":null}"#, "ann {}"), (#"{"principal_id":""}"#, nil), ("{}", nil),
            ("null", nil),
            (#"{"principal_id":1}"#, nil), (#"{"principal_id":"a\u0000"}"#, nil),
            (#"{"principal_id":"ann","auth_data":[]}"#, nil),
        ] as [(String, String?)]
    )
    func principalsAreRead(result: String, principal: String?) {
        let read = try? answer(#"{"result":\#(result)}"#, to: Self.provider)
        var found: String?
        if case .principal(let id, let data)? = read { found = "\(id) \(String(decoding: data.utf8, as: UTF8.self))" }
        #expect(found == principal)
    }

    // MARK: Hostile answers

    /// Reading any bytes ends in an answer or an error.
    @Test func drawnAnswersAreReadOrRefused() {
        var random = SeededGenerator.forTest()
        let parts = [
            "{", "}", "[", "]", ":", ",", "\"result\"", "\"error\"", "\"set\"", "\"code\"", "\"_access\"", "\"title\"",
            "\"$type\"", "\"date\"",
            "null", "true", "1", "-1e9", "\"x\"", "\"\\u0000\"", "\"header\"", "\"status\"", " ",
        ]
        let contents = [
            Self.function, Self.handler, Self.provider, Self.hook(.beforeSave), Self.hook(.afterFetch),
            Self.hook(.beforeDelete),
        ]
        for _ in 0..<seededCases(3000) {
            let count = Int.random(in: 0..<12, using: &random)
            let inner = (0..<count).map { _ in parts.randomElement(using: &random) ?? "" }.joined()
            let text = Bool.random(using: &random) ? #"{"result":\#(inner)}"# : inner
            for content in contents {
                for dialect in [FunctionDialect.skygear, .skyrow] { _ = try? answer(text, to: content, dialect) }
            }
        }
    }
}
