import SkyrowTestSupport
import Testing

@testable import SkyrowJSON

@Suite struct JSONViewTests {
    private func read<R>(_ text: String, _ body: (JSONView) throws -> R) throws -> R {
        try JSONDocument(Array(text.utf8)).withRoot { view throws(any Error) in try body(view) }
    }

    @Test func theLastOfSeveralMembersCounts() throws {
        try read(#"{"a":1,"b":2,"a":3}"#) { root in
            #expect(root["a"]?.wholeNumber == 3)
            #expect(root["c"] == nil)
            #expect(root.uniqueMembers.map(\.name) == ["a", "b"])
            #expect(root.uniqueMembers.map { $0.value.wholeNumber } == [3, 2])
        }
    }

    @Test func namesThatOnlyLookAlikeAreTwo() throws {
        // é in one piece and in two: equal as Swift strings, different members in JSON and in PostgreSQL.
        try read("{\"\u{E9}\":1,\"e\u{301}\":2}") { #expect($0.uniqueMembers.count == 2) }
    }

    @Test func namesAreFoundHoweverTheyAreEscaped() throws {
        try read(#"{"\u0061ction":"me"}"#) { root in
            #expect(root["action"]?.string == "me")
            #expect(root["action"]?.equals("me") == true)
        }
        try read(#""\u006de""#) { #expect($0.equals("me")) }
    }

    @Test func sourceIsTheValueAsItWasSent() throws {
        try read(#" { "a" : [ 1.50 , "x\n" ] , "b" : "é" } "#) { root in
            func source(_ view: JSONView?) -> String { view.map { String(decoding: $0.source, as: UTF8.self) } ?? "" }
            #expect(source(root) == #"{ "a" : [ 1.50 , "x\n" ] , "b" : "é" }"#)
            #expect(source(root["a"]) == #"[ 1.50 , "x\n" ]"#)
            #expect(source(root["b"]) == #""é""#)
            #expect(root["a"]?.elements.map { source($0) } == ["1.50", #""x\n""#])
        }
    }

    @Test func whatIsNotAContainerHasNothingInside() throws {
        try read("1") { root in
            #expect(root.count == 0)
            #expect(Array(root.elements).isEmpty)
            #expect(Array(root.members).isEmpty)
            #expect(root["a"] == nil)
            #expect(root.string == nil)
            #expect(root.boolean == nil)
            #expect(root.firstElement == nil)
        }
        try read("[]") { #expect($0.firstElement == nil) }
    }

    @Test func containersAreSteppedOver() throws {
        try read(#"[[1,[2,{"a":[3]}]],{"b":{}},"end"]"#) { root in
            #expect(root.count == 3)
            #expect(Array(root.elements).last?.string == "end")
            #expect(Array(root.descendants).count == 12)
        }
    }

    @Test(arguments: [
        ("0", JSONNumber.integer(0)), ("-0", .integer(0)), ("42", .integer(42)), ("-7", .integer(-7)),
        ("999999999999999999", .integer(999_999_999_999_999_999)),
        ("9007199254740993", .integer(9_007_199_254_740_993)),
        ("9223372036854775807", .integer(.max)), ("-9223372036854775808", .integer(.min)),
        ("9223372036854775808", .outOfRange), ("-9223372036854775809", .outOfRange),
        ("99999999999999999999999999", .outOfRange), ("1.0", .double(1)), ("1e0", .double(1)), ("0.1", .double(0.1)),
        ("-0.0", .double(-0.0)), ("1e22", .double(1e22)), ("1e23", .double(1e23)),
        ("123456789012345.6", .double(123456789012345.6)),
        ("0.30000000000000004", .double(0.30000000000000004)),
        ("1.7976931348623157e308", .double(.greatestFiniteMagnitude)),
        ("4.9406564584124654e-324", .double(.leastNonzeroMagnitude)), ("1.7976931348623159e308", .outOfRange),
        ("-1e400", .outOfRange), ("1e-400", .double(0)), ("1e-99999999999999999999", .double(0)),
        ("0e99999999999999", .double(0)),
        ("9007199254740993.0", .double(9_007_199_254_740_992)),
        ("2.2250738585072011e-308", .double(2.2250738585072011e-308)),
    ])
    func numbersKeepEveryDigitTheyCan(text: String, number: JSONNumber) throws {
        try read(text) { root in
            #expect(root.number == number)
            if case .double(let expected) = number, case .double(let value) = root.number {
                #expect(value.sign == expected.sign)
            }
        }
    }

    @Test func doublesAreRoundedAsTheStandardLibraryRounds() throws {
        var generator = JSONGenerator(SeededGenerator.forTest())
        for _ in 0..<20_000 {
            let digits = String(
                UInt64.random(
                    in: 0...(1 << UInt64.random(in: 0..<63, using: &generator.random)),
                    using: &generator.random
                )
            )
            let text =
                "\(digits).\(Int.random(in: 0...99_999, using: &generator.random))e\(Int.random(in: -40...40, using: &generator.random))"
            let expected = try #require(Double(text))
            try read(text) { #expect($0.number == .double(expected), "\(text)") }
        }
    }

    @Test(arguments: [("20", 20 as Int64?), ("20.0", 20), ("2e1", 20), ("20.5", nil), ("1e30", nil), ("\"20\"", nil)])
    func wholeNumbersMayBeWrittenWithAFraction(text: String, value: Int64?) throws {
        try read(text) { #expect($0.wholeNumber == value) }
    }
}
