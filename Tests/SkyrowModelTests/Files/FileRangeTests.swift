import SkyrowModel
import SkyrowTestSupport
import Testing

/// Ranges of RFC 9110, 14.1.2.
@Suite struct FileRangeTests {
    private static let rows: [(String?, Int64, FileRange)] = [
        (nil, 1000, .whole), ("", 1000, .whole),
        // From and to
        ("bytes=0-0", 1000, .part(0..<1)), ("bytes=0-499", 1000, .part(0..<500)),
        ("bytes=500-999", 1000, .part(500..<1000)), ("bytes=999-999", 1000, .part(999..<1000)),
        ("bytes=999-5000", 1000, .part(999..<1000)), ("bytes=0-0", 1, .part(0..<1)),
        ("bytes=1000-1000", 1000, .unsatisfiable), ("bytes=1000-5000", 1000, .unsatisfiable),
        ("bytes=5-4", 1000, .whole), ("bytes=5-4", 2, .whole),
        // From
        ("bytes=0-", 1000, .part(0..<1000)), ("bytes=999-", 1000, .part(999..<1000)),
        ("bytes=1000-", 1000, .unsatisfiable),
        // The last ones
        ("bytes=-1", 1000, .part(999..<1000)), ("bytes=-1000", 1000, .part(0..<1000)),
        ("bytes=-1001", 1000, .part(0..<1000)), ("bytes=-0", 1000, .unsatisfiable),
        // Leading zeros, other cases, spaces and empty elements
        ("bytes=0001-0002", 1000, .part(1..<3)), ("BYTES=0-1", 1000, .part(0..<2)),
        ("bytes= 0-1", 1000, .part(0..<2)), ("bytes=0-1\t", 1000, .part(0..<2)), ("bytes=,0-1, ,", 1000, .part(0..<2)),
        // An empty file
        ("bytes=0-", 0, .whole), ("bytes=0-0", 0, .whole), ("bytes=-5", 0, .whole),
        ("bytes=5-", 0, .unsatisfiable), ("bytes=-0", 0, .unsatisfiable),
        // Numbers that do not fit
        ("bytes=0-9223372036854775807", 1000, .part(0..<1000)), ("bytes=0-99999999999999999999", 1000, .part(0..<1000)),
        ("bytes=99999999999999999999-", 1000, .unsatisfiable), ("bytes=9223372036854775807-", 1000, .unsatisfiable),
        ("bytes=99999999999999999999-99999999999999999999", 1000, .unsatisfiable),
        ("bytes=-99999999999999999999", 1000, .part(0..<1000)),
        ("bytes=0-", .max, .part(0 ..< .max)), ("bytes=-9223372036854775807", .max, .part(0 ..< .max)),
        // Several ranges, and other units
        ("bytes=0-1,5-6", 1000, .whole), ("bytes=0-1,-1", 1000, .whole), ("bytes=0-1,0-1", 1000, .whole),
        ("items=0-1", 1000, .whole), ("byte=0-1", 1000, .whole), ("none", 1000, .whole),
        // Malformed
        ("bytes", 1000, .whole), ("bytes=", 1000, .whole), ("bytes=-", 1000, .whole), ("bytes=,", 1000, .whole),
        ("bytes =0-1", 1000, .whole), (" bytes=0-1", 1000, .whole), ("bytes=0", 1000, .whole),
        ("bytes=a-b", 1000, .whole), ("bytes=0-b", 1000, .whole), ("bytes=a-", 1000, .whole),
        ("bytes=-b", 1000, .whole),
        ("bytes=0-1-2", 1000, .whole), ("bytes=--1", 1000, .whole), ("bytes=+0-1", 1000, .whole),
        ("bytes=0 - 1", 1000, .whole), ("bytes=0x0-1", 1000, .whole), ("bytes=0-1;", 1000, .whole),
        ("bytes==0-1", 1000, .whole), ("bytes=\u{660}-\u{661}", 1000, .whole), ("bytes=0-1\u{301}", 1000, .whole),
    ]

    @Test(arguments: rows)
    func aRangeIsAPartOfTheFileOrNothing(field: String?, size: Int64, range: FileRange) {
        #expect(FileRange.parse(field, size: size) == range, "\(field ?? "nil") of \(size)")
    }

    /// Each range against the bytes that its definition selects, one by one.
    @Test func aRangeSelectsTheBytesOfItsDefinition() {
        for size in Int64(0)...6 {
            for first in Int64(0)...8 {
                for last in first...9 {
                    let selected = (0..<size).filter { first <= $0 && $0 <= last }
                    Self.check("bytes=\(first)-\(last)", size, selected, isFirst: first == 0)
                }
                Self.check("bytes=\(first)-", size, (0..<size).filter { $0 >= first }, isFirst: first == 0)
                let selected = (0..<size).filter { $0 >= size - first }
                Self.check("bytes=-\(first)", size, selected, isFirst: first > 0)
            }
        }
    }

    private static func check(_ field: String, _ size: Int64, _ selected: [Int64], isFirst: Bool) {
        let message: Comment = "\(field) of \(size)"
        switch FileRange.parse(field, size: size) {
        case .part(let range): #expect(Array(range) == selected && !selected.isEmpty, message)
        case .unsatisfiable: #expect(selected.isEmpty && !(size == 0 && isFirst), message)
        case .whole: #expect(size == 0 && isFirst, message)
        }
    }

    /// Fields of all the forms of RFC 9110, 14.1.1 and 14.1.2, against the bytes that their grammar and definition select.
    @Test func aFieldSelectsWhatItsGrammarSays() {
        var random = SeededGenerator.forTest()
        var counts: [String: Int] = [:]
        for _ in 0..<seededCases(3000) {
            let size = Int.random(in: 0...12, using: &random)
            let field = Self.field(&random)
            let found: String
            switch FileRange.parse(field, size: Int64(size)) {
            case .whole: found = "whole"
            case .unsatisfiable: found = "unsatisfiable"
            case .part(let range): found = "\(Array(range))"
            }
            #expect(found == Self.selection(field, size), "seed \(random.seed): \(field) of \(size)")
            counts[found.hasPrefix("[") ? "part" : found, default: 0] += 1
        }
        #expect(counts.count == 3 && counts.values.allSatisfy { $0 > 50 }, "\(counts)")
    }

    /// A field of a unit and a list, most of which follow the grammar.
    private static func field(_ random: inout SeededGenerator) -> String {
        func one(_ words: [String]) -> String { words.randomElement(using: &random) ?? "" }
        func number() -> String {
            one(["0", "1", "5", "9", "11", "12", "13", "007", "000", "99999999999999999999", "9223372036854775807"])
        }
        func range() -> String {
            switch Int.random(in: 0..<10, using: &random) {
            case 0...3: number() + "-" + number()
            case 4...5: number() + "-"
            case 6...7: "-" + number()
            case 8: one(["", " ", "\t"])
            default: one(malformed)
            }
        }
        let ranges = (0..<Int.random(in: 1...2, using: &random)).map { _ in one(["", "", " ", "\t "]) + range() }
        let sign = one(["=", "=", "=", "=", "=", "=", "=", "==", ":", ""])
        return one(units) + sign + ranges.joined(separator: one([",", ", ", " ,"]))
    }

    private static let malformed = [
        "-", "1", "a-b", "1-b", "--1", "+1-2", "1 -2", "1-2-3", "0x1-2", "1-2;", "\u{661}-2", "1.0-2",
    ]
    private static let units = [
        "bytes", "bytes", "bytes", "bytes", "bytes", "bytes", "Bytes", "BYTES", "byte", "items", "", "bytes ",
    ]

    /// What a field selects: a second reading of the RFC, by regular expressions and byte by byte.
    private static func selection(_ field: String, _ size: Int) -> String {
        guard let match = field.wholeMatch(of: /(?i:bytes)=(.*)/) else { return "whole" }
        let elements = match.output.1.split(separator: ",").map { $0.trimmingPrefix(/[ \t]*/) }
            .map { String($0.replacing(/[ \t]+$/, with: "")) }.filter { !$0.isEmpty }
        guard elements.count == 1 else { return "whole" }
        // Of a longer number only matters that no file here has so many bytes.
        func value(_ digits: Substring) -> Int { Int(digits) ?? 1_000_000 }
        let selected: [Int]
        let isFromStart: Bool
        if let range = elements[0].wholeMatch(of: /([0-9]+)-([0-9]*)/) {
            let first = value(range.output.1)
            let last = range.output.2.isEmpty ? Int.max : value(range.output.2)
            if !range.output.2.isEmpty, exceeds(range.output.1, range.output.2) { return "whole" }
            selected = (0..<size).filter { first <= $0 && $0 <= last }
            isFromStart = first == 0
        } else if let range = elements[0].wholeMatch(of: /-([0-9]+)/) {
            let length = value(range.output.1)
            selected = (0..<size).filter { $0 >= size - length }
            isFromStart = length > 0
        } else {
            return "whole"
        }
        // An empty file is sent as a whole for a range that would be satisfied by a longer one from its first byte on.
        if size == 0, isFromStart { return "whole" }
        return selected.isEmpty ? "unsatisfiable" : "\(selected)"
    }

    /// Whether the number of some digits is greater than that of others; numbers beyond Int64 count as its largest one.
    private static func exceeds(_ a: Substring, _ b: Substring) -> Bool { (Int64(a) ?? .max) > (Int64(b) ?? .max) }

    /// Texts of the characters that ranges are made of: never a part beyond the file, and no trap.
    @Test func noTextSelectsBytesBeyondTheFile() {
        var random = SeededGenerator.forTest()
        let letters = Array("0123456789-,= b\u{E9}")
        for _ in 0..<seededCases(20_000) {
            let text = String(
                (0..<Int.random(in: 0..<12, using: &random)).map { _ in letters.randomElement(using: &random) ?? "-" }
            )
            let size = Int64.random(in: 0..<2000, using: &random)
            guard case .part(let range) = FileRange.parse("bytes=" + text, size: size) else { continue }
            #expect(!range.isEmpty && range.lowerBound >= 0 && range.upperBound <= size, "\(text) of \(size)")
        }
    }
}
