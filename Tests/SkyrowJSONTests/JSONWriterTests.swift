import SkyrowModel
import SkyrowTestSupport
import Testing

@testable import SkyrowJSON

@Suite struct JSONWriterTests {
    private func written(_ body: (JSONWriter) -> Void) -> String {
        let writer = JSONWriter(capacity: 1)
        body(writer)
        return String(decoding: writer.bytes, as: UTF8.self)
    }

    @Test func commasComeByThemselves() {
        let text = written { writer in
            writer.beginObject()
            writer.key("a")
            writer.beginArray()
            writer.integer(1)
            writer.string("[")
            writer.beginArray()
            writer.endArray()
            writer.beginObject()
            writer.endObject()
            writer.null()
            writer.endArray()
            writer.key("b:" as String)
            writer.boolean(true)
            writer.key("c")
            writer.string("{" as String)
            writer.key("d")
            writer.json(JSONText(validated: Array("[1]".utf8)))
            writer.endObject()
        }
        #expect(text == #"{"a":[1,"[",[],{},null],"b:":true,"c":"{","d":[1]}"#)
    }

    @Test(arguments: [
        ("", #""""#), ("plain", #""plain""#), ("\"", #""\"""#), ("\\", #""\\""#), ("/", #""/""#),
        ("\u{8}\t\n\u{C}\r", #""\b\t\n\f\r""#), ("\u{0}\u{1F}", #""\u0000\u001f""#), ("\u{7F}", "\"\u{7F}\""),
        ("é€😀\u{2028}", "\"é€😀\u{2028}\""), ("12345678\"12345678\n", #""12345678\"12345678\n""#),
    ])
    func stringsEscapeOnlyWhatTheyMust(text: String, json: String) {
        #expect(written { $0.string(text) } == json)
    }

    @Test func everyStringIsReadBack() throws {
        var generator = JSONGenerator(SeededGenerator.forTest())
        for _ in 0..<2_000 {
            let text = generator.string()
            let json = written { $0.string(text) }
            #expect(ReferenceJSON(Array(json.utf8)) == .string(text), "\(json)")
        }
    }

    @Test(
        arguments: [
            (0, "0"), (7, "7"), (-1, "-1"), (10, "10"), (99, "99"), (100, "100"), (-1_000_000, "-1000000"),
            (.max, "9223372036854775807"), (.min, "-9223372036854775808"),
        ] as [(Int64, String)]
    )
    func integersKeepEveryDigit(value: Int64, json: String) {
        #expect(written { $0.integer(value) } == json)
    }

    @Test(
        arguments: [
            (0, "0"), (-0.0, "-0.0"), (1, "1"), (-3, "-3"), (0.1, "0.1"), (1.5, "1.5"), (1e15, "1000000000000000"),
            (9_007_199_254_740_992, "9007199254740992"), (1e21, "1e+21"), (1e-7, "1e-07"), (5e-324, "5e-324"),
            (.greatestFiniteMagnitude, "1.7976931348623157e+308"), (0.1 + 0.2, "0.30000000000000004"),
        ] as [(Double, String)]
    )
    func doublesAreAsShortAsTheyCanBe(value: Double, json: String) {
        #expect(written { $0.number(value) } == json)
    }

    @Test func everyDoubleAndIntegerIsReadBack() throws {
        var generator = JSONGenerator(SeededGenerator.forTest())
        for round in 0..<20_000 {
            let value = round % 2 == 0 ? generator.double() : (generator.double().significand * 1e6).rounded() / 1e3
            let json = written { $0.number(value) }
            let back = try JSONDocument(Array(json.utf8)).withRoot { $0.number }
            switch back {
            case .double(let other): #expect(other == value && other.sign == value.sign, "\(json)")
            case .integer(let other):
                #expect(Double(other) == value && !(value == 0 && value.sign == .minus), "\(json)")
            case .outOfRange, nil:
                // A whole double beyond 64 bits still has to look like a double.
                Issue.record("\(json)")
            }
            let integer =
                Int64(bitPattern: generator.random.next()) >> Int64.random(in: 0..<64, using: &generator.random)
            let digits = written { $0.integer(integer) }
            #expect(try JSONDocument(Array(digits.utf8)).withRoot { $0.number } == .integer(integer))
            #expect(digits == String(integer))
        }
    }

    @Test func theBufferGrowsAndIsUsedAgain() {
        let writer = JSONWriter(capacity: 1)
        let text = String(repeating: "x", count: 100_000)
        writer.string(text)
        #expect(writer.count == 100_002)
        writer.removeAll()
        #expect(writer.count == 0)
        writer.string("y")
        #expect(writer.bytes == Array("\"y\"".utf8))
        writer.truncate(to: 0)
        #expect(writer.bytes.isEmpty)
    }

    @Test func canonicalFormIgnoresOrderSpaceAndEscapes() throws {
        func canonical(_ text: String) throws -> String {
            try JSONDocument(Array(text.utf8)).withRoot { root in written { $0.canonical(root) } }
        }
        let one = try canonical(#"{ "b" : [1.0, "\u0041"], "a" : {"y":1,"x":2,"y":3} }"#)
        #expect(one == #"{"a":{"x":2,"y":3},"b":[1.0,"A"]}"#)
        #expect(try canonical(#"{"a":{"x":2,"y":3},"b":[1.0,"A"]}"#) == one)
        #expect(try canonical(#"{"a":{"x":2,"y":3},"b":[1,"A"]}"#) != one)
    }
}
