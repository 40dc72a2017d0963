import SkyrowJSON
import SkyrowModel
import SkyrowTestSupport
import Testing

@testable import SkyrowProtocol

@Suite struct HookMergeTests {
    private static var sent: Record {
        var record = Record(
            id: recordID("note/1"),
            fields: [
                fieldName("title"): .string("Milk"), fieldName("count"): .integer(3),
                fieldName("category"): .reference(recordID("category/a/b")),
                fieldName("data"): .json(JSONText(validated: Array(#"{"a":[1]}"#.utf8))),
            ]
        )
        record.owner = "ann"
        record.access = AccessList([
            AccessEntry(.everyone, .read), AccessEntry(.owner, .write), AccessEntry(.role("editor"), .update),
            AccessEntry(.group("golf"), .read), AccessEntry(.relation(.friend), .read),
        ])
        return record
    }

    private func verdict(_ answer: String, on record: Record = Self.sent) throws -> HookVerdict {
        try readJSON(answer) { try HookMerge.verdict(ofSkygear: $0, on: record) }
    }

    @Test(
        arguments: [
            ("null", .unchanged), ("{}", .unchanged),
            (
                #"{"_id":"note/2","_ownerID":"bob","_created_at":"2020-01-01T00:00:00Z","_updated_by":"bob","_revision":9,"_x":1}"#,
                .unchanged
            ),
            (
                #"{"title":"Milk","count":3.0,"category":{"$type":"ref","$id":"category/a"},"data":{"a":[1]}}"#,
                .unchanged
            ),
            (#"{"title":"Bread"}"#, .accepted(set: [fieldName("title"): .string("Bread")], access: nil)),
            (#"{"title":null}"#, .accepted(set: [fieldName("title"): nil as RecordValue?], access: nil)),
            (#"{"other":null}"#, .unchanged),
            (#"{"other":1.5}"#, .accepted(set: [fieldName("other"): .number(1.5)], access: nil)),
            (#"{"other":{"$type":"unknown","$underlying_type":"money"}}"#, .unchanged),
            (#"{"count":"3"}"#, .accepted(set: [fieldName("count"): .string("3")], access: nil)),
            (#"{"_access":[{"public":true,"level":"read"}]}"#, .unchanged), (#"{"_access":null}"#, .unchanged),
            (
                #"{"_access":[{"role":"editor","level":"read"},{"user_id":"bob","level":"write"}]}"#,
                .accepted(
                    set: [:],
                    access: AccessList([
                        AccessEntry(.owner, .write), AccessEntry(.user("bob"), .write),
                        AccessEntry(.role("editor"), .update),
                        AccessEntry(.group("golf"), .read), AccessEntry(.relation(.friend), .read),
                    ])
                )
            ),
            (
                #"{"_access":[]}"#,
                .accepted(
                    set: [:],
                    access: AccessList([
                        AccessEntry(.owner, .write), AccessEntry(.role("editor"), .update),
                        AccessEntry(.group("golf"), .read),
                        AccessEntry(.relation(.friend), .read),
                    ])
                )
            ),
        ] as [(String, HookVerdict)]
    )
    func answersOfSkygearAreMerged(answer: String, verdict expected: HookVerdict) throws {
        let result = try verdict(answer)
        #expect(result == expected)
    }

    @Test func noListComesBackAsPublicReading() throws {
        let record = Record(id: recordID("note/1"))
        let unchanged = try verdict(#"{"_access":[{"public":true,"level":"read"}]}"#, on: record)
        #expect(unchanged == .unchanged)
        let closed = try verdict(#"{"_access":[]}"#, on: record)
        #expect(closed == .accepted(set: [:], access: AccessList([])))
    }

    @Test(arguments: [
        "[]", "1", #""note""#, #"{"a b":1}"#, #"{"title":{"$op":"increment"}}"#,
        #"{"title":{"$type":"date","$date":"x"}}"#,
        #"{"title":{"$type":"what"}}"#, #"{"title":"a\u0000"}"#, #"{"title":1e999}"#, #"{"_access":{}}"#,
        #"{"_access":[{"level":"read"}]}"#, #"{"_access":[{"relation":"follow","level":"read"}]}"#,
        #"{"category":{"$type":"ref","$id":"category/$1"}}"#, #"{"data":[{"$type":"ref","$id":"category/$1"}]}"#,
    ])
    func answersOfSkygearAreRefused(answer: String) {
        let failure = #expect(throws: FunctionFailure.self) { try verdict(answer) }
        #expect(failure?.error == SkyrowError(.unexpectedError, "The function failed."))
        #expect(failure?.detailed.message.isEmpty == false)
    }

    @Test(
        arguments: [
            ("{}", .beforeSave, .unchanged), ("{}", .beforeDelete, .unchanged), ("{}", .afterFetch, .unchanged),
            (#"{"set":{},"access":null,"error":null}"#, .beforeSave, .unchanged),
            (
                #"{"set":{"title":"Bread","count":null,"_parent":{"$type":"ref","$id":"list/1"}},"access":[]}"#,
                .beforeSave,
                .accepted(
                    set: [
                        fieldName("title"): .string("Bread"), fieldName("count"): nil as RecordValue?,
                        .parent: .reference(recordID("list/1")),
                    ],
                    access: AccessList([])
                )
            ),
            (
                #"{"error":{"code":20001,"message":"Too long","info":{"trace":"x","n":1}}}"#, .beforeSave,
                .refused(SkyrowError(ErrorCode(rawValue: 20001), "Too long", info: ["n": .integer(1)]))
            ),
            (
                #"{"error":{"message":"SELECT secret"}}"#, .beforeDelete,
                .refused(SkyrowError(.unexpectedError, "The function failed."))
            ),
            (#"{"set":{"a":1}}"#, .afterFetch, .accepted(set: [fieldName("a"): .integer(1)], access: nil)),
            (#"{"drop":true}"#, .afterFetch, .dropped), (#"{"drop":false}"#, .afterFetch, .unchanged),
        ] as [(String, HookTrigger, HookVerdict)]
    )
    func answersOfSkyrowAreRead(entry: String, trigger: HookTrigger, expected: HookVerdict) throws {
        let verdict = try readJSON(entry) { try HookMerge.verdict(of: $0, trigger) }
        #expect(verdict == expected)
    }

    @Test(
        arguments: [
            ("null", .beforeSave), ("[]", .beforeSave), (#"{"sets":{}}"#, .beforeSave), (#"{"set":[]}"#, .beforeSave),
            (#"{"set":{"_id":"note/2"}}"#, .beforeSave), (#"{"set":{"_verified":true}}"#, .beforeSave),
            (#"{"set":{"a":{"$op":"increment"}}}"#, .beforeSave), (#"{"access":{}}"#, .beforeSave),
            (#"{"drop":true}"#, .beforeSave), (#"{"set":{}}"#, .beforeDelete), (#"{"access":[]}"#, .afterFetch),
            (#"{"error":{}}"#, .afterFetch), (#"{"drop":1}"#, .afterFetch),
        ] as [(String, HookTrigger)]
    )
    func answersOfSkyrowAreRefused(entry: String, trigger: HookTrigger) {
        let failure = #expect(throws: FunctionFailure.self) {
            try readJSON(entry) { try HookMerge.verdict(of: $0, trigger) }
        }
        #expect(failure?.error.code == .unexpectedError)
    }
}
