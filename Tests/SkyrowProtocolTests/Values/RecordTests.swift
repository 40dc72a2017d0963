import SkyrowModel
import SkyrowTestSupport
import Testing

@testable import SkyrowJSON
@testable import SkyrowProtocol

@Suite struct RecordTests {
    /// The example of skygear.md 3.1 with what Skyrow adds.
    static let golden = #"""
        {"_id":"note/3b9f8f98","_type":"record","_access":[{"public":true,"level":"read"}],"_ownerID":"118e0217",\#
        "_created_at":"2019-02-07T06:42:59.871181Z","_created_by":"118e0217","_updated_at":"2019-02-07T06:42:59.87Z",\#
        "_updated_by":"u2","_revision":42,"blob":{"$type":"bytes","$base64":"AQI="},"category":{"$type":"ref","$id":"category/9"},\#
        "done":false,"due":{"$type":"date","$date":"2019-03-01T09:00:00Z"},"price":1.5,"stars":9007199254740993,"tags":["a",{"b":1}],\#
        "title":"Shop\"ping","_transient":{"category":{"_id":"category/9","_type":"record","_access":null,"name":"Home"},"none":null,\#
        "counted":{"count":7,"records":[{"_id":"tag/2","_type":"record","_access":null}]},\#
        "tags":[{"_id":"tag/1","_type":"record","_access":null},{"_id":"tag/2","_type":"record","_access":null}]}}
        """#

    static var record: Record {
        var record = Record(
            id: recordID("note/3b9f8f98"),
            fields: [
                fieldName("title"): .string("Shop\"ping"), fieldName("stars"): .integer(9_007_199_254_740_993),
                fieldName("price"): .number(1.5), fieldName("done"): .boolean(false),
                fieldName("due"): .datetime(try! Timestamp(rfc3339: "2019-03-01T09:00:00Z")),
                fieldName("category"): .reference(recordID("category/9")), fieldName("blob"): .bytes([1, 2]),
                fieldName("tags"): .json(JSONText(validated: Array(#"["a",{"b":1}]"#.utf8))),
            ]
        )
        record.access = AccessList([AccessEntry(.everyone, .read)])
        record.owner = "118e0217"
        record.createdAt = try! Timestamp(rfc3339: "2019-02-07T06:42:59.871181Z")
        record.createdBy = "118e0217"
        record.updatedAt = try! Timestamp(rfc3339: "2019-02-07T06:42:59.87Z")
        record.updatedBy = "u2"
        record.revision = 42
        let home = Record(id: recordID("category/9"), fields: [fieldName("name"): .string("Home")])
        record.transient = ["category": home, "none": nil as Record?]
        let tags = ["tag/1", "tag/2"].map { Record(id: recordID($0)) }
        record.lists = ["tags": RecordList(tags), "counted": RecordList([tags[1]], count: 7)]
        return record
    }

    @Test func recordsHaveTheFormOfSkygear() {
        #expect(writtenJSON { $0.record(RecordTests.record) } == RecordTests.golden)
    }

    @Test func recordsAreReadAsTheyWereWritten() throws {
        #expect(try readJSON(RecordTests.golden) { try Record($0) } == RecordTests.record)
    }

    @Test func everyBorrowedValueHasItsForm() throws {
        func member(_ value: BorrowedValue) -> String {
            writtenJSON { writer in
                var sink = RecordJSONWriter(writer)
                sink.beginRecord()
                sink.member(MemberKey("f"), value)
                sink.endRecord()
            }
        }
        func lent(_ text: String, _ body: (UnsafeRawBufferPointer) -> BorrowedValue) -> String {
            Array(text.utf8).withUnsafeBytes { member(body($0)) }
        }
        #expect(member(.null) == #"{"f":null}"#)
        #expect(member(.boolean(true)) == #"{"f":true}"#)
        #expect(member(.integer(.min)) == #"{"f":-9223372036854775808}"#)
        #expect(member(.number(2)) == #"{"f":2}"#)
        #expect(member(.number(.nan)) == #"{"f":{"$type":"unknown","$underlying_type":"double precision"}}"#)
        #expect(lent("a\nb") { .string($0) } == #"{"f":"a\nb"}"#)
        #expect(lent("") { .string($0) } == #"{"f":""}"#)
        #expect(
            member(.datetime(Timestamp(microseconds: 0))) == #"{"f":{"$type":"date","$date":"2000-01-01T00:00:00Z"}}"#
        )
        let place = try Location(latitude: -22.5, longitude: 0.1)
        #expect(member(.location(place)) == #"{"f":{"$type":"geo","$lng":0.1,"$lat":-22.5}}"#)
        #expect(member(.plainDatetime(.infinity)) == #"{"f":"infinity"}"#)
        #expect(lent("[1]") { .json($0) } == #"{"f":[1]}"#)
        func elements(_ values: [BorrowedValue]) -> String { values.withUnsafeBufferPointer { member(.array($0)) } }
        #expect(elements([]) == #"{"f":[]}"#)
        #expect(
            elements([.integer(1), .null, .number(.nan)])
                == #"{"f":[1,null,{"$type":"unknown","$underlying_type":"double precision"}]}"#
        )
        let type: StaticString = "note"
        let typeName = UnsafeRawBufferPointer(start: type.utf8Start, count: type.utf8CodeUnitCount)
        #expect(lent("a/\"b") { .reference(type: typeName, id: $0) } == #"{"f":{"$type":"ref","$id":"note/a/\"b"}}"#)
        #expect(lent("ab") { .bytes($0) } == #"{"f":{"$type":"bytes","$base64":"YWI="}}"#)
        #expect(lent("a\"b") { .asset($0) } == #"{"f":{"$type":"asset","$name":"a\"b"}}"#)
        #expect(lent("money") { .unknown($0) } == #"{"f":{"$type":"unknown","$underlying_type":"money"}}"#)
    }

    @Test func whatANewerServerSendsIsLeftOut() throws {
        let text =
            #"{"_id":"n/1","_access":null,"_new":1,"a":{"$type":"geojson","$val":{}},"b":1,"c":{"$type":"unknown","$underlying_type":"money"}}"#
        let record = try readJSON(text) { try Record($0) }
        #expect(record.fields == [fieldName("b"): .integer(1)])
    }

    @Test(arguments: [
        "{}", #"{"_id":1}"#, #"{"_id":"n"}"#, #"{"_id":"n/1","_created_at":"soon"}"#, #"{"_id":"n/1","_access":1}"#,
    ])
    func whatIsNoRecordIsRefused(text: String) throws {
        #expect(try refusal(text) { try Record($0) }?.code == .invalidArgument)
    }
}
