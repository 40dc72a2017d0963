/// The part of a file that a request asks for by its field `Range` (RFC 9110, 14.1.2).
///
/// ```swift
/// FileRange.parse("bytes=0-99", size: 1000)    // .part(0..<100)
/// FileRange.parse("bytes=-1", size: 1000)      // .part(999..<1000)
/// FileRange.parse("bytes=1000-", size: 1000)   // .unsatisfiable
/// ```
package enum FileRange: Hashable, Sendable {
    /// Without a range, and for a field that may be ignored: several ranges, another unit, or a malformed value.
    case whole
    /// Bytes of the file, at least one; the response is a 206.
    case part(Range<Int64>)
    /// No byte of the range exists; the response is a 416.
    case unsatisfiable

    /// Parses the field of a request for a file of `size` bytes.
    package static func parse(_ field: String?, size: Int64) -> FileRange {
        guard let field, let equals = field.utf8.firstIndex(of: UInt8(ascii: "=")) else { return .whole }
        guard field[..<equals].lowercased() == "bytes" else { return .whole }
        // A list may have empty elements (RFC 9110, 5.6.1.2).
        let ranges = field.utf8[equals...].dropFirst().split(separator: UInt8(ascii: ","))
            .map { Substring($0).trimmingSpaces }.filter { !$0.isEmpty }
        guard ranges.count == 1, let dash = ranges[0].utf8.firstIndex(of: UInt8(ascii: "-")) else { return .whole }
        let first = ranges[0][..<dash]
        let last = ranges[0][dash...].dropFirst()
        guard first.isEmpty else { return part(from: first, to: last, of: size) }
        guard let length = position(last) else { return .whole }
        return suffix(length, of: size)
    }

    private static func part(from first: Substring, to last: Substring, of size: Int64) -> FileRange {
        guard let first = position(first), let last = last.isEmpty ? .max : position(last), first <= last else {
            return .whole
        }
        if first < size { return .part(first..<min(last, size - 1) + 1) }
        // Clients that ask for each file from its first byte get an empty one, as from nginx.
        return first == 0 ? .whole : .unsatisfiable
    }

    private static func suffix(_ length: Int64, of size: Int64) -> FileRange {
        guard length > 0 else { return .unsatisfiable }
        // Content-Range cannot express a part without bytes.
        return size > 0 ? .part(max(0, size - length)..<size) : .whole
    }

    /// Returns the number of some digits, the largest one if it does not fit; nil for any other text.
    private static func position(_ digits: Substring) -> Int64? {
        guard !digits.isEmpty, digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        return Int64(digits) ?? .max
    }
}

extension Substring {
    /// The text without spaces and tabs at its ends: optional whitespace (RFC 9110, 5.6.3).
    package var trimmingSpaces: Substring {
        func isSpace(_ byte: UInt8) -> Bool { byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }
        guard let start = utf8.firstIndex(where: { !isSpace($0) }), let end = utf8.lastIndex(where: { !isSpace($0) })
        else { return "" }
        return Substring(utf8[start...end])
    }
}
