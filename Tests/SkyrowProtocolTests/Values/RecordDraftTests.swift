import SkyrowModel
import SkyrowTestSupport
import Testing

@testable import SkyrowProtocol

@Suite struct RecordDraftTests {
    private func draft(_ text: String) throws -> RecordDraft {
        try readJSON(text) { try RecordDraft($0) }
    }

    @Test func fieldsKeepTheirOrderAndReservedMembersAreDropped() throws {
        let draft = try draft(
            #"""
            {"_id":"note/1","_type":"record","_ownerID":"u9","_created_at":"x","_revision":3,"_transient":{},
             "title":"Milk","stars":3,"_anything":[],"done":null}
            """#
        )
        #expect(draft == RecordDraft("note/1", [("title", .string("Milk")), ("stars", .integer(3)), ("done", .null)]))
    }

    @Test func aFieldWithoutNameIsRefusedAndDroppedForSkygear() throws {
        let text = #"{"_id":"note/1","":1,"title":"Milk"}"#
        let error = #expect(throws: SkyrowError.self) { try draft(text) }
        #expect(error?.code == .invalidArgument)
        let skygear = try readJSON(text) { try RecordDraft($0, rules: .v1) }
        #expect(skygear == RecordDraft("note/1", [("title", .string("Milk"))]))
    }

    @Test func theParentIsAFieldOfADraft() throws {
        let draft = try draft(#"{"_id":"item/1","_parent":{"$type":"ref","$id":"list/1"},"a":1}"#)
        #expect(draft == RecordDraft("item/1", [("_parent", .reference(recordID("list/1"))), ("a", .integer(1))]))
        #expect(try self.draft(writtenJSON { $0.draft(draft) }) == draft)
    }

    @Test func aNameThatComesAgainCountsOnceWithItsLastValue() throws {
        #expect(try draft(#"{"_id":"n/1","a":1,"b":2,"a":3}"#).fields.map(\.value) == [.integer(3), .integer(2)])
        let names = (0..<100).map { "f\($0 % 40)" }
        let text = names.enumerated().map { "\"\($1)\":\($0)" }.joined(separator: ",")
        let fields = try draft("{\"_id\":\"n/1\",\(text)}").fields
        #expect(fields.map(\.name.rawValue) == (0..<40).map { "f\($0)" })
        let last: [RecordValue] = (0..<40).map { .integer(Int64($0 < 20 ? $0 + 80 : $0 + 40)) }
        #expect(fields.map(\.value) == last)
    }

    @Test(
        arguments: [
            (#"{"_id":"note/1/2"}"#, "note/1/2"), (#"{"_recordType":"note","_recordID":"7","_id":"old/1"}"#, "note/7"),
            (#"{"_recordType":null,"_recordID":"7","_id":"note/1"}"#, "note/1"), (#"{"_id":"post/$1"}"#, "post/$1"),
            (#"{"_id":"a/1","_id":"b/2"}"#, "b/2"), (#"{"\u005fid":"note/1"}"#, "note/1"),
        ] as [(String, String)]
    )
    func idsComeInTwoForms(text: String, id: String) throws {
        #expect(try draft(text).id == recordID(id))
    }

    @Test(
        arguments: [
            (#"{"_id":"n/1"}"#, nil), (#"{"_id":"n/1","_if_revision":null}"#, nil),
            (#"{"_id":"n/1","_if_revision":"new"}"#, .isNew),
            (#"{"_id":"n/1","_if_revision":42}"#, .revision(42)), (#"{"_id":"n/1","_if_revision":"any"}"#, .exists),
        ] as [(String, SavePrecondition?)]
    )
    func preconditionsAreRead(text: String, precondition: SavePrecondition?) throws {
        #expect(try draft(text).precondition == precondition)
    }

    @Test(
        arguments: [
            ("1", .invalidArgument, "records"), ("{}", .invalidArgument, "id"),
            (#"{"_id":null}"#, .invalidArgument, "id"),
            (#"{"_id":1}"#, .invalidArgument, "id"), (#"{"_id":"nonsense"}"#, .invalidArgument, "id"),
            (#"{"_id":"note/"}"#, .invalidArgument, "id"), (#"{"_id":"_auth/1"}"#, .invalidArgument, "record_type"),
            (#"{"_id":"\"; drop table note; --/1"}"#, .invalidArgument, "record_type"),
            (#"{"_id":"note/~u1/1"}"#, .invalidArgument, "id"),
            (#"{"_id":"note/a\u0000b"}"#, .invalidArgument, "id"),
            (#"{"_recordType":1,"_recordID":"1"}"#, .invalidArgument, "id"),
            (#"{"_id":"n/1","_if_revision":"old"}"#, .invalidArgument, "_if_revision"),
            (#"{"_id":"n/1","_if_revision":1.5}"#, .invalidArgument, "_if_revision"),
            (#"{"_id":"n/1","_access":{}}"#, .invalidArgument, "_access"),
            (#"{"_id":"n/1","😀":1}"#, .invalidArgument, "😀"),
            (#"{"_id":"n/1","1a":1}"#, .invalidArgument, "1a"), (#"{"_id":"n/1","a b":1}"#, .invalidArgument, "a b"),
            (#"{"_id":"n/1","f":{"$type":"blob"}}"#, .invalidArgument, "f"),
            (#"{"_id":"n/1","f":1e999}"#, .invalidArgument, "f"),
            (#"{"_id":"n/1","place":{"$type":"geojson","$val":{}}}"#, .invalidArgument, "place"),
            (#"{"_id":"n/1","place":{"$type":"geo","$lng":1,"$lat":91}}"#, .invalidArgument, "place"),
        ] as [(String, ErrorCode, String)]
    )
    func whatCannotBeSavedIsRefusedByName(text: String, code: ErrorCode, argument: String) throws {
        let error = try #require(try refusal(text) { try RecordDraft($0) })
        #expect(error.code == code)
        #expect(error.arguments == [argument])
    }

    @Test func namesOfSixtyFourBytesAreRefusedAndSixtyThreeAccepted() throws {
        let name = String(repeating: "n", count: 63)
        #expect(try draft("{\"_id\":\"n/1\",\"\(name)\":1}").fields.count == 1)
        _ = try refusal("{\"_id\":\"n/1\",\"\(name)n\":1}") { try RecordDraft($0) }
    }

    @Test func aRecordBeyondOneMegabyteIsRefused() throws {
        let head = #"{"_id":"n/1","f":""#
        let full = head + String(repeating: "x", count: WireLimits.recordBytes - head.utf8.count - 2) + "\"}"
        #expect(try draft(full).fields.count == 1)
        let error = try refusal(full.dropLast(2) + "x\"}") { try RecordDraft($0) }
        #expect(error?.code == .payloadTooLarge)
    }

    @Test func draftsAreReadAsTheyWereWritten() throws {
        let drafts = [
            RecordDraft("note/1", [("title", .string("é\n")), ("n", .null)]),
            RecordDraft("note/2", access: AccessList([]), precondition: .isNew),
            RecordDraft(
                "note/3",
                access: AccessList([AccessEntry(.role("editor"), .write)]),
                [
                    ("r", .reference(recordID("c/1"))), ("d", .datetime(Timestamp(microseconds: 1))), ("s", .sequence),
                    ("b", .bytes([1])),
                ],
                precondition: .revision(7)
            ),
        ]
        for draft in drafts {
            let text = writtenJSON { $0.draft(draft) }
            #expect(try self.draft(text) == draft, "\(text)")
        }
    }
}
