// Tests of single bytes and words of eight bytes for the parser, the reader and the writer.

@inline(__always)
package func isDigit(_ byte: UInt8) -> Bool {
    byte &- UInt8(ascii: "0") < 10
}

private let everyByte: UInt64 = 0x0101_0101_0101_0101
private let highBits: UInt64 = 0x8080_8080_8080_8080

/// The high bit of each byte that is a quote, a backslash or a control character.
///
/// Borrows travel upwards, so bytes above the lowest marked one may be marked wrongly; only the lowest counts.
@inline(__always)
private func specialBytes(_ word: UInt64) -> UInt64 {
    let quote = word ^ (everyByte &* UInt64(UInt8(ascii: "\"")))
    let backslash = word ^ (everyByte &* UInt64(UInt8(ascii: "\\")))
    return
        (((quote &- everyByte) & ~quote) | ((backslash &- everyByte) & ~backslash)
        | ((word &- everyByte &* 0x20) & ~word)) & highBits
}

/// The first byte from `start` that is a quote, a backslash, a control character or not ASCII, or `end`.
@inline(__always)
func skipPlainStringBytes(_ start: UnsafePointer<UInt8>, end: UnsafePointer<UInt8>) -> UnsafePointer<UInt8> {
    var p = start
    while end - p >= 8 {
        let word = UInt64(littleEndian: UnsafeRawPointer(p).loadUnaligned(as: UInt64.self))
        let marks = specialBytes(word) | (word & highBits)
        if marks != 0 { return p + marks.trailingZeroBitCount >> 3 }
        p += 8
    }
    while p < end, p[0] >= 0x20, p[0] < 0x80, p[0] != UInt8(ascii: "\""), p[0] != UInt8(ascii: "\\") { p += 1 }
    return p
}

/// The first byte from `start` that a JSON string must escape, or `end`.
@inline(__always)
func skipUnescapedBytes(_ start: UnsafePointer<UInt8>, end: UnsafePointer<UInt8>) -> UnsafePointer<UInt8> {
    var p = start
    while end - p >= 8 {
        let word = UInt64(littleEndian: UnsafeRawPointer(p).loadUnaligned(as: UInt64.self))
        let marks = specialBytes(word)
        if marks != 0 { return p + marks.trailingZeroBitCount >> 3 }
        p += 8
    }
    while p < end, p[0] >= 0x20, p[0] != UInt8(ascii: "\""), p[0] != UInt8(ascii: "\\") { p += 1 }
    return p
}
