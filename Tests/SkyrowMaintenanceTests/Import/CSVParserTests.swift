import SkyrowTestSupport
import Testing

@testable import SkyrowMaintenance

@Suite struct CSVParserTests {
    /// Parses a text as a whole, or cut into pieces of `size` bytes.
    static func parse(_ bytes: [UInt8], size: Int = .max, delimiter: Character = ",") -> [Result<CSVLine, LineFault>] {
        var parser = CSVParser(delimiter: delimiter.asciiValue ?? 0)
        var records: [Result<CSVLine, LineFault>] = []
        var rest = bytes[...]
        while !rest.isEmpty {
            parser.take(Array(rest.prefix(size)), into: &records)
            rest = rest.dropFirst(size)
        }
        parser.finish(into: &records)
        return records
    }

    static func line(_ number: Int, _ fields: String...) -> Result<CSVLine, LineFault> {
        // "'…'" stands for a quoted field.
        .success(
            CSVLine(
                number: number,
                fields: fields.map { field in
                    field.hasPrefix("'")
                        ? CSVField(String(field.dropFirst().dropLast()), isQuoted: true) : CSVField(field)
                }
            )
        )
    }

    static func fault(_ line: Int, _ reason: String, endsFile: Bool = false) -> Result<CSVLine, LineFault> {
        .failure(LineFault(line: line, reason: reason, endsFile: endsFile))
    }

    @Test(arguments: [
        ("", []),
        ("a", [line(1, "a")]),
        ("a,b\n1,2\n", [line(1, "a", "b"), line(2, "1", "2")]),
        ("a,b\r\n1,2\r\n", [line(1, "a", "b"), line(2, "1", "2")]),
        ("a\r1\r2", [line(1, "a"), line(2, "1"), line(3, "2")]),
        ("a,\n,\n", [line(1, "a", ""), line(2, "", "")]),
        ("a\n\n\r\nb\n", [line(1, "a"), line(4, "b")]),
        ("\u{feff}a\n", [line(1, "a")]),
        ("\"a b\",\"c\"\"d\",\"\"\"", [fault(1, "a quote is never closed", endsFile: true)]),
        (#""a b","c""d","""" "#, [fault(1, "there is text after a closing quote")]),
        (#""a b","c""d","""""#, [line(1, "'a b'", "'c\"d'", "'\"'")]),
        ("\"a\nb\r\nc\",1\nd,2", [line(1, "'a\nb\r\nc'", "1"), line(4, "d", "2")]),
        ("\"\",x", [line(1, "''", "x")]),
        ("\"\"\nx", [line(1, "''"), line(2, "x")]),
        (#"a"b,c"#, [line(1, "a\"b", "c")]),
        ("\"a\"b\nc", [fault(1, "there is text after a closing quote"), line(2, "c")]),
        ("a\n\"b\nc", [line(1, "a"), fault(2, "a quote is never closed", endsFile: true)]),
        ("Größe,日本\n", [line(1, "Größe", "日本")]),
    ])
    func aTextBecomesItsRecordsHoweverItIsCut(text: String, records: [Result<CSVLine, LineFault>]) {
        for size in [1, 2, 3, Int.max] {
            // A byte order mark comes in one piece from any file.
            if size < 3, text.hasPrefix("\u{feff}") { continue }
            #expect(Self.parse(Array(text.utf8), size: size) == records)
        }
    }

    @Test func anotherDelimiterIsTakenAtItsWord() {
        #expect(Self.parse(Array("a;b,c\n".utf8), delimiter: ";") == [Self.line(1, "a", "b,c")])
        #expect(Self.parse(Array("a\tb\n".utf8), delimiter: "\t") == [Self.line(1, "a", "b")])
    }

    @Test func bytesThatAreNoTextAreAFaultOfTheirLine() {
        #expect(
            Self.parse([0x61, 0x0a, 0xff, 0x0a, 0x62]) == [
                Self.line(1, "a"), Self.fault(2, "the text is not UTF-8"), Self.line(3, "b"),
            ]
        )
        #expect(
            Self.parse([0x61, 0, 0x0a, 0x62]) == [Self.fault(1, "the text contains a NUL byte"), Self.line(2, "b")]
        )
        let utf16 = Self.parse([0xff, 0xfe, 0x61, 0])
        #expect(utf16.first == Self.fault(1, "the file is UTF-16; convert it to UTF-8", endsFile: true))
    }
}
