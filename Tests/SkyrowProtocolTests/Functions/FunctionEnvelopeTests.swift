import SkyrowJSON
import SkyrowModel
import SkyrowTestSupport
import Testing

@testable import SkyrowProtocol

/// The bodies of calls of function servers.
@Suite struct FunctionEnvelopeTests {
    private static let anonymous = FunctionContext()

    private static let ann = FunctionContext(
        userID: "ann",
        keyKind: .client,
        requestID: "r1",
        roles: ["editor"],
        depth: 2,
        token: "t",
        clientAddress: "192.0.2.1"
    )

    private static func json(_ text: String) -> JSONText { JSONText(validated: Array(text.utf8)) }

    private static func function(_ arguments: String?) throws -> FunctionCall.Content {
        .function(try FunctionName("hello:world"), arguments: arguments.map { json($0) })
    }

    private func text(
        _ dialect: FunctionDialect,
        _ content: FunctionCall.Content,
        _ context: FunctionContext = Self.anonymous,
        links: (any AssetLinks)? = nil
    ) -> String {
        let call = FunctionCall(content, of: "main", context: context)
        let body = FunctionEnvelope(dialect).text(of: call, time: .milliseconds(1500), links: links)
        return String(decoding: body, as: UTF8.self)
    }

    @Test func functionsOfSkygearGetTheBodyOfTheRequest() throws {
        let none = #"{"kind":"op","name":"hello:world","param":{"action":"hello:world"}}"#
        #expect(text(.skygear, try Self.function(nil)) == none)
        #expect(text(.skygear, try Self.function("null")) == none)
        let given = text(.skygear, try Self.function("[1]"), Self.ann)
        #expect(
            given == #"""
                {"kind":"op","name":"hello:world","param":{"action":"hello:world","args":[1]},"context":{"user_id":"ann",\#
                "access_key_type":"client","request_id":"r1"}}
                """#
        )
    }

    @Test func functionsOfSkyrowGetTheArguments() throws {
        let none = text(.skyrow, try Self.function(nil))
        #expect(none == #"{"kind":"op","name":"hello:world","context":{"depth":1,"deadline_ms":1500}}"#)
        let given = text(.skyrow, try Self.function(#"{"a":{"$type":"date"}}"#), Self.ann)
        #expect(
            given == #"""
                {"kind":"op","name":"hello:world","param":{"args":{"a":{"$type":"date"}}},"context":{"user_id":"ann",\#
                "access_key_type":"client","request_id":"r1","roles":["editor"],"depth":2,"deadline_ms":1500,"token":"t",\#
                "client_address":"192.0.2.1"}}
                """#
        )
    }

    @Test func timeThatIsUpIsZero() {
        let call = FunctionCall(.provider("p", authData: Self.json("{}")), of: "main", context: Self.anonymous)
        let body = FunctionEnvelope(.skyrow).text(of: call, time: .seconds(-5), links: nil)
        #expect(String(decoding: body, as: UTF8.self).contains(#""deadline_ms":0"#))
    }

    // MARK: Hooks

    private static var note: Record {
        var record = Record(
            id: recordID("note/1"),
            fields: [
                fieldName("title"): .string("Milk"),
                fieldName("file"): .asset(Asset(AssetName(id: fileID, filename: "a.png"))),
                fieldName("bad"): .datetime(.infinity), fieldName("category"): .reference(recordID("category/a/b")),
                .parent: .reference(recordID("list/1")),
            ]
        )
        record.owner = "ann"
        record.access = AccessList([
            AccessEntry(.everyone, .read), AccessEntry(.owner, .write), AccessEntry(.group("golf"), .read),
            AccessEntry(.role("editor"), .write), AccessEntry(.role("author"), .update),
            AccessEntry(.user("bob"), .read),
            AccessEntry(.relation(.friend), .read),
        ])
        record.createdAt = try! Timestamp(rfc3339: "2026-01-01T00:00:00.5Z")
        record.createdBy = "ann"
        record.updatedAt = .negativeInfinity
        record.revision = 7
        return record
    }

    private static let fileID = "7b0e2a7c-7135-4912-a6c9-7c1dbec0f5ef"

    /// Makes addresses from names.
    private final class Links: AssetLinks {
        func withAddress(of name: UnsafeRawBufferPointer, _ body: (UnsafeRawBufferPointer) -> Void) {
            (Array("https://files.example/".utf8) + Array(name)).withUnsafeBytes { body($0) }
        }
    }

    @Test(
        arguments: [
            (.beforeSave, true), (.afterSave, true), (.beforeDelete, false), (.afterDelete, false),
        ] as [(HookTrigger, Bool)]
    )
    func hooksOfSkygearGetWhatTheRuntimesRead(trigger: HookTrigger, hasOriginal: Bool) {
        let original = Record(id: recordID("note/1"))
        let hook = HookDescription("app.check", trigger, on: typeName("note"))
        let body = text(.skygear, .hook(hook, .records([HookedRecord(Self.note, original: original)])), links: Links())
        let stored = hasOriginal ? #"{"_id":"note/1","_type":"record","_access":null}"# : "null"
        #expect(
            body == #"""
                {"kind":"hook","name":"app.check","param":{"record":{"_id":"note/1","_type":"record","_access":[\#
                {"public":true,"level":"read"},{"user_id":"bob","level":"read"},{"role":"editor","level":"write"}],\#
                "_ownerID":"ann","_created_at":"2026-01-01T00:00:00.5Z","_created_by":"ann",\#
                "category":{"$type":"ref","$id":"category/a/b"},"file":{"$type":"asset","$name":"\#(Self.fileID)-a.png",\#
                "$url":"https://files.example/\#(Self.fileID)-a.png"},"title":"Milk"},"original":\#(stored)}}
                """#
        )
    }

    @Test func newRecordsOfSkygearHaveNoOriginal() {
        let hook = HookDescription("app.check", .beforeSave, on: typeName("note"))
        let body = text(.skygear, .hook(hook, .records([HookedRecord(Record(id: recordID("note/1")))])))
        #expect(body.hasSuffix(#""original":null}}"#))
    }

    @Test func hooksOfSkyrowGetRecordsInBatches() {
        let new = Record(id: recordID("note/2"), fields: [fieldName("title"): .string("Milk")])
        var old = new
        old.fields = [:]
        let hook = HookDescription("check", .beforeSave, on: nil)
        let records = [HookedRecord(new, original: old, changed: [fieldName("title")]), HookedRecord(old)]
        let body = text(.skyrow, .hook(hook, .records(records)))
        #expect(
            body == #"""
                {"kind":"hook","name":"check","param":{"records":[{"record":{"_id":"note/2","_type":"record","_access":null,\#
                "title":"Milk"},"original":{"_id":"note/2","_type":"record","_access":null},"changed":["title"]},\#
                {"record":{"_id":"note/2","_type":"record","_access":null},"original":null,"changed":[]}]},\#
                "context":{"depth":1,"deadline_ms":1500}}
                """#
        )
    }

    @Test func otherHooksGetTheirUserOrQuery() {
        let login = HookDescription("login", .beforeLogin, on: .user)
        let account = text(.skyrow, .hook(login, .account(Record(id: recordID("user/ann")))))
        #expect(account.contains(#""param":{"user":{"_id":"user/ann","_type":"record","_access":null}}"#))
        let query = HookDescription("query", .beforeQuery, on: nil)
        let body = text(.skyrow, .hook(query, .query(Self.json(#"{"record_type":"note"}"#))))
        #expect(body.contains(#""param":{"query":{"record_type":"note"}}"#))
    }

    // MARK: Events, handlers and providers

    @Test(arguments: [FunctionDialect.skygear, .skyrow])
    func eventsHaveNoContext(dialect: FunctionDialect) {
        #expect(text(dialect, .event("init", nil), Self.ann) == #"{"kind":"event","name":"init"}"#)
        #expect(text(dialect, .event("init", Self.json("null"))) == #"{"kind":"event","name":"init"}"#)
        #expect(text(dialect, .event("init", Self.json("{}"))) == #"{"kind":"event","name":"init"}"#)
        let config = text(dialect, .event("after-config", Self.json(#"{"config":{}}"#)))
        #expect(config == #"{"kind":"event","name":"after-config","param":{"config":{}}}"#)
    }

    @Test func handlersGetTheRequest() {
        let request = HandlerRequest(
            name: "web:hello",
            method: "POST",
            path: "/web/hello",
            query: "q=1",
            fields: [
                ("content-type", "application/json"), ("X-FORWARDED-for", "a"), ("x-forwarded-For", "b"), ("x-1a", "c"),
            ],
            body: Array("hi".utf8)
        )
        #expect(
            text(.skygear, .handler(request)) == #"""
                {"kind":"handler","name":"web:hello","param":{"method":"POST","path":"/web/hello","query_string":"q=1",\#
                "header":{"Content-Type":["application/json"],"X-Forwarded-For":["a","b"],"X-1a":["c"]},"body":"aGk="}}
                """#
        )
        let empty = HandlerRequest(name: "a", method: "GET", path: "/a", query: "", fields: [], body: [])
        #expect(
            text(.skygear, .handler(empty))
                == #"{"kind":"handler","name":"a","param":{"method":"GET","path":"/a","query_string":"","header":{},"body":""}}"#
        )
    }

    @Test func providersGetTheAuthData() {
        #expect(
            text(.skygear, .provider("com.example", authData: Self.json(#"{"pin":1}"#)))
                == #"{"kind":"provider","name":"com.example","param":{"action":"login","auth_data":{"pin":1}}}"#
        )
    }
}
