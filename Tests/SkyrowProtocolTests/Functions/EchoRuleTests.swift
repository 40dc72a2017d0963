import Foundation
import SkyrowModel
import SkyrowTestSupport
import Testing

@testable import SkyrowJSON
@testable import SkyrowProtocol

@Suite struct EchoRuleTests {
    /// What py-skygear 1.7.1 makes of records, from `Tests/Clients/functions/echo-vectors.py`; `SKYROW_ECHO_VECTORS` names a file
    /// with more of them.
    private static let vectors =
        ProcessInfo.processInfo.environment["SKYROW_ECHO_VECTORS"].map { URL(filePath: $0) }
        ?? URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../../Clients/functions/echo-vectors.json").standardized

    @Test func theRuleAgreesWithPySkygear() throws {
        let document = try JSONDocument(Array(Data(contentsOf: Self.vectors)))
        var (echoes, unreadable) = (0, 0)
        try document.withRoot { rows throws(any Error) in
            for row in rows.elements {
                if let value = row["unreadable"] {
                    unreadable += 1
                    #expect(!EchoRule.isReadable(value), "\(Self.text(value))")
                    continue
                }
                let (sent, echo) = (try #require(row["sent"]), try #require(row["echo"]))
                let (name, changed) = (try #require(row["name"]?.string), try #require(row["changed"]))
                echoes += 1
                let record = try Record(sent)
                #expect(EchoRule.isReadable(sent), "\(Self.text(sent))")
                let verdict = try HookMerge.verdict(ofSkygear: echo, on: record)
                #expect(verdict == .unchanged, "\(Self.text(echo)) of \(Self.text(sent))")
                let value = try #require(Self.member(name, of: sent))
                #expect(!EchoRule.isEcho(changed, of: value), "\(Self.text(changed)) of \(Self.text(value))")
            }
        }
        #expect(echoes >= 200)
        #expect(unreadable >= 20)
    }

    private static func text(_ json: JSONView) -> String { String(decoding: json.source, as: UTF8.self) }

    private static func member(_ name: String, of json: JSONView) -> JSONView? {
        json.uniqueMembers.first { $0.name == name }?.value
    }

    @Test(
        arguments: [
            // JavaScript cuts instants to milliseconds, also before 1970.
            (
                #"{"$type":"date","$date":"2026-01-01T00:00:00.123Z"}"#,
                #"{"$type":"date","$date":"2026-01-01T00:00:00.123999Z"}"#, true
            ),
            (
                #"{"$type":"date","$date":"2026-01-01T00:00:00.122Z"}"#,
                #"{"$type":"date","$date":"2026-01-01T00:00:00.123Z"}"#, false
            ),
            (
                #"{"$type":"date","$date":"2026-01-01T01:00:00+01:00"}"#,
                #"{"$type":"date","$date":"2026-01-01T00:00:00Z"}"#, true
            ),
            (#""2026-01-01T00:00:00Z""#, #"{"$type":"date","$date":"2026-01-01T00:00:00Z"}"#, false),
            (#"{"$type":"date","$date":null}"#, #"{"$type":"date","$date":"2026-01-01T00:00:00Z"}"#, false),
            ("9007199254740992", "9007199254740993", true), ("9007199254740994", "9007199254740993", false),
            ("1", "1.0", true), ("100", "1e2", true), ("0", "-0.0", true), ("1", "2", false), ("\"1\"", "1", false),
            ("1", "true", false), ("null", "0", false), ("0.1", "0.1000000000000000055", true),
            (#"{"$type":"ref","$id":"a/b"}"#, #"{"$type":"ref","$id":"a/b/c"}"#, true),
            (#"{"$type":"ref","$id":"a/b/c"}"#, #"{"$type":"ref","$id":"a/b/c"}"#, true),
            (#"{"$type":"ref","$id":"a"}"#, #"{"$type":"ref","$id":"a/b/c"}"#, false),
            (#"{"$type":"ref","$id":"a/c"}"#, #"{"$type":"ref","$id":"a/b"}"#, false),
            (#"{"$type":"asset","$name":"n"}"#, #"{"$type":"asset","$name":"n","$url":"u"}"#, true),
            (#"{"$type":"asset","$name":"n","$content_type":null}"#, #"{"$type":"asset","$name":"m"}"#, false),
            (#"{"$type":"geo","$lat":2,"$lng":1.0}"#, #"{"$type":"geo","$lng":1,"$lat":2}"#, true),
            (#"{"$type":"geo","$lat":1,"$lng":2}"#, #"{"$type":"geo","$lng":1,"$lat":2}"#, false),
            (#"{"b":1,"a":[{}]}"#, #"{"a":[{}],"b":1}"#, true), (#"{"a":1}"#, #"{"a":1,"b":null}"#, false),
            (#"{"a":1,"c":2}"#, #"{"a":1,"b":2}"#, false), ("[1,2]", "[1,2,3]", false), ("[2,1]", "[1,2]", false),
            (#""\u00e9""#, #""é""#, true), (#""e\u0301""#, #""é""#, false), ("[]", "{}", false),
            (#"{"$type":"bytes","$base64":"AAEC"}"#, #"{"$type":"bytes","$base64":"AAED"}"#, false),
        ]
    )
    func echoesAreRecognized(answer: String, sent: String, isEcho: Bool) throws {
        let result = try readJSON(sent) { sent in try readJSON(answer) { EchoRule.isEcho($0, of: sent) } }
        #expect(result == isEcho)
    }

    @Test(
        arguments: [
            ("0001-01-01T00:00:00Z", false), ("0001-01-02T00:00:00Z", true), ("1969-12-31T23:59:59Z", true),
            ("1969-12-31T23:59:59.5Z", false), ("1970-01-01T00:00:00.000001Z", true), ("9999-12-30T00:00:00Z", true),
            ("9999-12-31T00:00:00Z", false), ("infinity", false), ("-infinity", false),
            ("-000043-03-15T12:00:00Z", false),
        ]
    )
    func instantsThatTheRuntimesReadAreSent(text: String, isSent: Bool) throws {
        let instant = try Timestamp(rfc3339: text)
        #expect(EchoRule.isReadable(instant) == isSent)
        #expect(EchoRule.isReadable(.datetime(instant)) == isSent)
    }

    @Test func valuesThatTheRuntimesReadAreSent() {
        func json(_ text: String) -> RecordValue { .json(JSONText(validated: Array(text.utf8))) }
        #expect(EchoRule.isReadable(.reference(recordID("note/a/b"))))
        #expect(!EchoRule.isReadable(.reference(recordID("note//a"))))
        #expect(!EchoRule.isReadable(.array([.reference(recordID("note/a")), .reference(recordID("note//a"))])))
        #expect(EchoRule.isReadable(.array([.null, .integer(1)])))
        #expect(EchoRule.isReadable(json(#"[{"$type":"date","$date":"2026-01-01T00:00:00Z"}]"#)))
        #expect(!EchoRule.isReadable(json(#"[{"deep":{"$type":"date","$date":"yesterday"}}]"#)))
        let deep = String(repeating: "[", count: 500) + #""$""# + String(repeating: "]", count: 500)
        #expect(EchoRule.isReadable(json(deep)))
    }
}
