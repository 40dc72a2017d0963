import SkyrowModel
import SkyrowTestSupport
import Testing

@testable import SkyrowProtocol

private func nines(_ count: Int) -> String {
    String(repeating: "9", count: count)
}

@Suite struct RecordValueTests {
    @Test(
        arguments: [
            ("null", .null), ("true", .boolean(true)), ("false", .boolean(false)), (#""Milk""#, .string("Milk")),
            (#""\u00e9\n""#, .string("é\n")), ("3", .integer(3)), ("9007199254740993", .integer(9_007_199_254_740_993)),
            ("3.0", .number(3)), ("1e2", .number(100)), ("-0.0", .number(-0.0)),
            (
                #"{"$type":"date","$date":"2019-03-01T09:00:00.5+01:00"}"#,
                .datetime(Timestamp(microseconds: 604_742_400_500_000))
            ),
            (#"{"$type":"date","$date":"-infinity"}"#, .datetime(.negativeInfinity)),
            (
                #"{"$type":"date","$date":"2000-01-01T00:00:00.0000010Z"}"#, .datetime(Timestamp(microseconds: 1))
            ),
            (#"{"$type":"ref","$id":"category/9"}"#, .reference(recordID("category/9"))),
            (#"{"$type":"ref","$id":"category/9/10"}"#, .reference(recordID("category/9/10"))),
            (
                #"{"$type":"ref","$recordType":"category","$recordID":"9","$id":"old/1"}"#,
                .reference(recordID("category/9"))
            ),
            (#"{"$type":"seq"}"#, .sequence), (#"{"$type":"bytes","$base64":"AP8="}"#, .bytes([0, 255])),
            (
                #"{"$type":"geo","$lng":-180,"$lat":22.28}"#,
                .location(try! Location(latitude: 22.28, longitude: -180))
            ),
            ("[1, 2]", .json(JSONText(validated: Array("[1, 2]".utf8)))),
            (
                #"{"a":{"$type":"geo","$lat":1},"$val":2}"#,
                .json(JSONText(validated: Array(#"{"a":{"$type":"geo","$lat":1},"$val":2}"#.utf8)))
            ),
            ("[5e-324,0e-99]", .json(JSONText(validated: Array("[5e-324,0e-99]".utf8)))),
            (#"[99999999999999999999]"#, .json(JSONText(validated: Array("[99999999999999999999]".utf8)))),
            ("[\(nines(400))]", .json(JSONText(validated: Array("[\(nines(400))]".utf8)))),
            ("[0.\(nines(398))]", .json(JSONText(validated: Array("[0.\(nines(398))]".utf8)))),
        ] as [(String, RecordValue)]
    )
    func everyTypeOfValueIsRead(text: String, value: RecordValue) throws {
        #expect(try readJSON(text) { try RecordValue($0, field: "f") } == value)
    }

    @Test func unknownValuesThatComeBackAreIgnored() throws {
        #expect(
            try readJSON(#"{"$type":"unknown","$underlying_type":"money"}"#) { try RecordValue($0, field: "f") } == nil
        )
    }

    @Test(
        arguments: [
            ("9223372036854775808", .invalidArgument), ("-9223372036854775809", .invalidArgument),
            ("1e400", .invalidArgument),
            (#""a\u0000b""#, .invalidArgument), (#"["a\u0000b"]"#, .invalidArgument),
            (#"{"a\u0000":1}"#, .invalidArgument),
            ("[1e400]", .invalidArgument), (#"{"a":1e-16000}"#, .invalidArgument),
            ("[0.0e5, 1e-400]", .invalidArgument), ("[0e-999]", .invalidArgument),
            ("[\(nines(401))]", .invalidArgument), ("[-\(nines(400))]", .invalidArgument),
            ("[{\"a\":0.\(nines(399))}]", .invalidArgument), ("[\(nines(399)).5]", .invalidArgument),
            (#"{"$type":"date","$date":"2000-01-01T00:00:00.0000001Z"}"#, .invalidArgument),
            (#"{"$type":"date"}"#, .invalidArgument), (#"{"$type":"date","$date":5}"#, .invalidArgument),
            (#"{"$type":"date","$date":"2023-02-29T00:00:00Z"}"#, .invalidArgument),
            (#"{"$type":"ref"}"#, .invalidArgument),
            (#"{"$type":"ref","$id":"category"}"#, .invalidArgument),
            (#"{"$type":"ref","$id":"_auth/1"}"#, .invalidArgument),
            (#"{"$type":"ref","$id":"c/~1"}"#, .invalidArgument),
            (#"{"$type":"bytes","$base64":"A"}"#, .invalidArgument),
            (#"{"$type":"geo","$lng":1}"#, .invalidArgument),
            (#"{"$type":"geo","$lng":"1","$lat":1}"#, .invalidArgument),
            (#"{"$type":"geo","$lng":180.1,"$lat":1}"#, .invalidArgument),
            (#"{"$type":"geo","$lng":1,"$lat":-90.1}"#, .invalidArgument),
            (#"{"$type":"geo","$lng":1e400,"$lat":1}"#, .invalidArgument),
            (#"{"$type":"bytes"}"#, .invalidArgument), (#"{"$type":"blob"}"#, .invalidArgument),
            (#"{"$type":"keypath","$val":"a"}"#, .invalidArgument),
            (#"{"$type":"record"}"#, .invalidArgument), (#"{"$type":1}"#, .invalidArgument),
            (#"{"$type":null}"#, .invalidArgument),
            (#"{"$op":"inc","$val":1}"#, .invalidArgument), (#"{"$type":"geojson","$val":{}}"#, .invalidArgument),
            (#"{"$type":"geojson"}"#, .invalidArgument), (#"{"$type":"asset","$name":"a"}"#, .invalidArgument),
            (#"{"$type":"relation","$name":"_friend"}"#, .invalidArgument),
            (#"{"$type":"relation","$record_type":"_friend"}"#, .invalidArgument),
        ] as [(String, ErrorCode)]
    )
    func whatNoFieldCanHoldIsRefusedByName(text: String, code: ErrorCode) throws {
        let error = try #require(try refusal(text) { try RecordValue($0, field: "due") })
        #expect(error.code == code)
        #expect(error.arguments == ["due"])
    }

    @Test func unknownTypesAreNamed() throws {
        let error = try #require(try refusal(#"{"$type":"blob"}"#) { try RecordValue($0, field: "f") })
        #expect(error.message.contains("\"blob\""))
        let long = String(repeating: "x", count: 1000)
        let other = try #require(try refusal("{\"$type\":\"\(long)\"}") { try RecordValue($0, field: "f") })
        #expect(other.message.count < 100)
    }

    @Test(
        arguments: [
            (.null, "null"), (.string("a\"b"), #""a\"b""#), (.integer(.max), "9223372036854775807"), (.number(1), "1"),
            (.number(1.5), "1.5"), (.number(.nan), #"{"$type":"unknown","$underlying_type":"double precision"}"#),
            (.number(.infinity), #"{"$type":"unknown","$underlying_type":"double precision"}"#),
            (.boolean(true), "true"),
            (.datetime(Timestamp(microseconds: 0)), #"{"$type":"date","$date":"2000-01-01T00:00:00Z"}"#),
            (.datetime(.infinity), #"{"$type":"date","$date":"infinity"}"#),
            (.json(JSONText(validated: Array("[1]".utf8))), "[1]"),
            (.reference(recordID("category/a\"/b")), #"{"$type":"ref","$id":"category/a\"/b"}"#),
            (.sequence, #"{"$type":"seq"}"#), (.bytes([]), #"{"$type":"bytes","$base64":""}"#),
            (.bytes([1, 2, 3, 4]), #"{"$type":"bytes","$base64":"AQIDBA=="}"#), (.array([]), "[]"),
            (.array(["a", "é\"", ""]), #"["a","é\"",""]"#), (.array([1, .null, 2.5, true]), "[1,null,2.5,true]"),
            (
                .array([.reference(recordID("tag/a/b")), .reference(recordID("tag/2"))]),
                #"[{"$type":"ref","$id":"tag/a/b"},{"$type":"ref","$id":"tag/2"}]"#
            ),
        ] as [(RecordValue, String)]
    )
    func everyTypeOfValueIsWritten(value: RecordValue, text: String) {
        #expect(writtenJSON { $0.value(value) } == text)
    }
}
