import Foundation
import SkyrowTestSupport
import Testing

@testable import SkyrowJSON

@Suite struct JSONParserTests {
    @Test(arguments: validTexts)
    func validTextIsReadAsTheReferenceReadsIt(text: String) throws {
        let bytes = Array(text.utf8)
        let reference = try #require(ReferenceJSON(bytes))
        #expect(try JSONDocument(bytes).withRoot { ReferenceJSON($0) } == reference)
    }

    @Test(arguments: invalidTexts)
    func invalidTextIsRefusedWithReasonAndPlace(text: String, reason: JSONParseError.Reason, offset: Int) {
        #expect(ReferenceJSON(Array(text.utf8)) == nil)
        #expect(throws: JSONParseError(reason, at: offset)) { try JSONDocument(Array(text.utf8)) }
    }

    @Test(arguments: invalidUTF8)
    func bytesThatAreNotUTF8AreRefused(bytes: [UInt8], offset: Int) {
        #expect(ReferenceJSON(bytes) == nil)
        #expect(throws: JSONParseError(.invalidUTF8, at: offset)) { try JSONDocument(bytes) }
    }

    @Test(arguments: ["[", "{\"a\":"])
    func nestingIsBoundedAtSixtyFourLevels(opening: String) throws {
        func nested(_ depth: Int) -> [UInt8] {
            let closing = opening == "[" ? "]" : "}"
            return Array(
                (String(repeating: opening, count: depth) + "1" + String(repeating: closing, count: depth)).utf8
            )
        }
        _ = try JSONDocument(nested(64))
        #expect(throws: JSONParseError(.nestedTooDeeply(limit: 64), at: 64 * opening.utf8.count)) {
            try JSONDocument(nested(65))
        }
        _ = try JSONDocument(nested(128), depthLimit: 128)
        #expect(throws: JSONParseError.self) { try JSONDocument(nested(100_000)) }
    }

    @Test func aTapeThatIsTooShortIsMadeLonger() throws {
        // One word for every other byte, far above what the first tape allows for.
        let count = 100_000
        let bytes = Array(("[" + Array(repeating: "1", count: count).joined(separator: ",") + "]").utf8)
        let sum = try JSONDocument(bytes).withRoot { root in
            root.elements.reduce(into: 0) { $0 += $1.wholeNumber == 1 ? 1 : 0 }
        }
        #expect(sum == count)
        let brackets = Array(("[" + Array(repeating: "[]", count: count).joined(separator: ",") + "]").utf8)
        #expect(try JSONDocument(brackets).withRoot { $0.count } == count)
    }

    @Test func everyWritingOfAValueIsReadBack() throws {
        var generator = JSONGenerator(SeededGenerator.forTest())
        for _ in 0..<2_000 {
            let value = generator.value()
            let text = generator.text(value)
            #expect(try JSONDocument(Array(text.utf8)).withRoot { ReferenceJSON($0) } == value, "\(text)")
        }
    }

    @Test func parserAndReferenceAcceptTheSameTexts() throws {
        var generator = JSONGenerator(SeededGenerator.forTest())
        var accepted = 0
        let corpus = validTexts.map { Array($0.utf8) } + invalidTexts.map { Array($0.text.utf8) }
        for round in 0..<20_000 {
            let seed =
                round % 4 == 0
                ? Array(generator.text(generator.value(depth: 2)).utf8)
                : corpus.randomElement(using: &generator.random)!
            let bytes = generator.mutation(of: seed)
            let reference = ReferenceJSON(bytes)
            let document = try? JSONDocument(bytes)
            #expect(document?.withRoot { ReferenceJSON($0) } == reference, "\(bytes)")
            if reference != nil { accepted += 1 }
        }
        // Both sides of the question were asked often enough to mean something.
        #expect((1_000...19_000).contains(accepted))
    }

    /// Foundation is no witness for strings: it drops U+FEFF.
    @Test(arguments: [
        (#""\uFEFFa\uFEFF""#, "\u{FEFF}a\u{FEFF}"), ("\"\u{FEFF}x\u{10FFFF}\"", "\u{FEFF}x\u{10FFFF}"),
        (#""a\u0000b""#, "a\0b"), (#""\uD83D\uDE00""#, "\u{1F600}"), (#""e\u0301""#, "e\u{301}"),
        (#""\/\b\f\n\r\t""#, "/\u{8}\u{C}\n\r\t"),
    ])
    func stringsKeepEveryScalar(text: String, string: String) throws {
        let read = try JSONDocument(Array(text.utf8)).withRoot { $0.string! }
        #expect(Array(read.utf8) == Array(string.utf8))
    }

    @Test func stringsAreThoseThatWereWritten() throws {
        var generator = JSONGenerator(SeededGenerator.forTest())
        for _ in 0..<500 {
            let strings = [generator.string(), generator.string(), "\u{FEFF}" + generator.string() + "\u{FEFF}"]
            let text = generator.text(.array(strings.map { .string($0) }))
            let read = try JSONDocument(Array(text.utf8)).withRoot { $0.elements.map { $0.string! } }
            #expect(read.map { Array($0.utf8) } == strings.map { Array($0.utf8) }, "\(text)")
        }
    }

    @Test func theBodyIsReadWhereItLies() throws {
        let body = Array(#"{"name":"Ann"}"#.utf8)
        let name = try body.withUnsafeBytes { bytes in
            try JSONDocument.read(bytes) { root in root["name"]?.string }
        }
        #expect(name == "Ann")
        #expect(throws: JSONParseError(.unexpectedEnd, at: 1)) {
            try Array("[".utf8).withUnsafeBytes { bytes in
                try JSONDocument.read(bytes) { _ in }
            }
        }
    }

    @Test func descriptionsNameTheByte() {
        #expect(JSONParseError(.invalidUTF8, at: 7).description == "The JSON text is not valid UTF-8 (at byte 7)")
    }
}
