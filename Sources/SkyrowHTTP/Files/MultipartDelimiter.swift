import Glibc

/// What separates the parts of a multipart body: CR LF, two dashes, and the boundary.
///
/// CR stands only at its beginning, so two matches never overlap.
struct MultipartDelimiter: Hashable {
    let bytes: [UInt8]
    /// How far the search can move on if a byte is the last one of the examined ones (Horspool's algorithm).
    private let shifts: [UInt8]

    private static let carriageReturn = UInt8(ascii: "\r")

    /// nil for a text that RFC 2046, 5.1.1 does not permit.
    init?(boundary: String) {
        guard (1...70).contains(boundary.utf8.count), boundary.utf8.allSatisfy(Self.isBoundaryByte),
            boundary.utf8.last != UInt8(ascii: " ")
        else { return nil }
        bytes = Array("\r\n--\(boundary)".utf8)
        var shifts = [UInt8](repeating: UInt8(bytes.count), count: 256)
        for (index, byte) in bytes.dropLast().enumerated() {
            shifts[Int(byte)] = UInt8(bytes.count - 1 - index)
        }
        self.shifts = shifts
    }

    /// Returns where the delimiter is, or a beginning of it at the end of the text; an empty range at the end without either.
    ///
    /// Most bytes are not examined. A call of `memchr` for each CR is slow for a text that has hardly anything else.
    func firstRange(in text: UnsafeRawBufferPointer, from start: Int) -> Range<Int> {
        bytes.withUnsafeBytes { pattern in
            shifts.withUnsafeBufferPointer { shifts in
                let count = pattern.count
                let final = pattern[count - 1]
                var end = start + count
                while end <= text.count {
                    let last = text[end - 1]
                    if last == final, Self.isSame(text, from: end - count, count, pattern) { return end - count..<end }
                    end += Int(shifts[Int(last)])
                }
                // Fewer bytes remain than the delimiter has. Only the last CR can begin it.
                let remaining = UnsafeRawBufferPointer(rebasing: text[(end - count)...])
                guard let place = remaining.lastIndex(of: Self.carriageReturn),
                    Self.isSame(remaining, from: place, remaining.count - place, pattern)
                else { return text.count..<text.count }
                return text.count - remaining.count + place..<text.count
            }
        }
    }

    /// Whether the text has the first `count` bytes of the pattern at `place`.
    private static func isSame(
        _ text: UnsafeRawBufferPointer,
        from place: Int,
        _ count: Int,
        _ pattern: UnsafeRawBufferPointer
    ) -> Bool {
        guard text[place] == carriageReturn, let text = text.baseAddress, let pattern = pattern.baseAddress else {
            return false
        }
        return memcmp(text + place, pattern, count) == 0
    }

    private static func isBoundaryByte(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
        default: "'()+_,-./:=? ".utf8.contains(byte)
        }
    }
}
