import SkyrowModel
import SkyrowTestSupport
import Testing

@testable import SkyrowJSON

/// Every row of the manual's table of texts, what is a value beside what is none.
@Suite struct TextCastTests {
    private static let good: [(FieldType, String, RecordValue)] = [
        (.integer, "0", .integer(0)), (.integer, "-12", .integer(-12)), (.integer, "007", .integer(7)),
        (.integer, "9223372036854775807", .integer(.max)), (.integer, "-9223372036854775808", .integer(.min)),
        (.sequence, "7", .integer(7)),
        (.number, "1.25", .number(1.25)), (.number, "-1e-3", .number(-0.001)), (.number, "1E+2", .number(100)),
        (.number, "12", .integer(12)), (.number, "9007199254740993", .integer(9_007_199_254_740_993)),
        (.number, "5e-324", .number(.leastNonzeroMagnitude)),
        (.boolean, "true", .boolean(true)), (.boolean, "false", .boolean(false)),
        (.datetime, "2000-01-01T00:00:00Z", .datetime(Timestamp(microseconds: 0))),
        (.datetime, "2000-01-01T01:00:00.000001+01:00", .datetime(Timestamp(microseconds: 1))),
        (.datetime, "2000-01-01T00:00:00.0000000Z", .datetime(Timestamp(microseconds: 0))),
        (.datetime, "+294276-12-31T23:59:59.999999Z", .datetime(Timestamp(microseconds: 9_223_371_331_199_999_999))),
        (.datetime, "infinity", .datetime(.infinity)), (.datetime, "-infinity", .datetime(.negativeInfinity)),
        (.bytes, "", .bytes([])), (.bytes, "AAEC", .bytes([0, 1, 2])), (.bytes, "AA==", .bytes([0])),
        (.reference(type("category")), "9", .reference(id("category/9"))),
        (.reference(type("category")), "a/b c", .reference(id("category/a/b c"))),
        (.reference(type("category")), "category/9", .reference(id("category/category/9"))),
    ]

    @Test(arguments: good)
    func aTextThatIsAValueIsThatValue(type: FieldType, text: String, value: RecordValue) throws {
        #expect(try #require(TextCast(type)).value(of: text) == value)
    }

    private static let bad: [(FieldType, [String])] = [
        (
            .integer,
            [
                "", " 12", "12 ", "+1", "1e1", "1.0", "-", "1_000", "0x10", "٣", "9223372036854775808",
                "00000000000000000012",
            ]
        ),
        (.sequence, ["", "1.5"]),
        (
            .number,
            ["", " 1", "1 ", "1.", ".5", "+1", "01", "NaN", "Infinity", "1e400", "1e", "--1", "1,5", "[1]", "\"1\""]
        ),
        (.number, ["99999999999999999999"]),
        (.boolean, ["", "True", "TRUE", "1", "0", "yes", "true ", "null"]),
        (
            .datetime,
            [
                "", "2000-01-01", "2000-01-01T00:00:00", "2000-01-01 00:00:00Z", "2023-02-29T00:00:00Z",
                "2000-01-01T00:00:00.0000001Z", " 2000-01-01T00:00:00Z", "Infinity", "now",
                "+294277-01-01T00:00:00Z",
            ]
        ),
        (.bytes, ["A", "AA", "AB==", "AA=", "AA-_", "AAEC ", "\\x00"]),
        (.reference(type("category")), ["", "~ann/9", "a\u{0}b", String(repeating: "x", count: 256)]),
        (.location, ["", "POINT(1 2)", "1,2"]),
        (.asset, ["", "7b0e2a7c-7135-4912-a6c9-7c1dbec0f5ef-cat.png"]),
        (.array(.string), ["", "a", "{a}", "[\"a\"]"]),
    ]

    @Test(arguments: bad)
    func anyOtherTextIsNone(type: FieldType, texts: [String]) throws {
        let cast = try #require(TextCast(type))
        for text in texts { #expect(cast.value(of: text) == nil, "\(text)") }
    }

    @Test(arguments: [FieldType.string, .json, .unknown("money")])
    func textsAreTakenAsTheyAreOrNotAtAll(type: FieldType) {
        #expect(TextCast(type) == nil)
    }
}
