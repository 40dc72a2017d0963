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
