extension JSONWriter {
    package func integer(_ value: Int64) {
        separate()
        decimal(value)
    }

    package func integer(_ value: Int) {
        integer(Int64(value))
    }

    /// Writes the shortest digits that read back as the same double, without a fraction if it is whole.
    ///
    /// Negative zero is `-0.0`, so that its sign survives. JSON has no NaN and no infinities; the caller must handle these.
    package func number(_ value: Double) {
        precondition(value.isFinite, "JSON has no number for NaN and the infinities.")
        separate()
        if abs(value) < 9_007_199_254_740_992, value == value.rounded(.towardZero), value != 0 || value.sign == .plus {
            return decimal(Int64(value))
        }
        var text = value.description
        text.withUTF8 { utf8 in
            let isWhole =
                utf8.count > 2 && utf8[utf8.count - 1] == UInt8(ascii: "0")
                && utf8[utf8.count - 2] == UInt8(ascii: ".") && value != 0
            append(UnsafeBufferPointer(rebasing: utf8.dropLast(isWhole ? 2 : 0)))
        }
    }

    /// Writes the digits of an integer, without a comma before them.
    func decimal(_ value: Int64) {
        let bytes = reserve(20)
        var length = 0
        if value < 0 {
            bytes[0] = UInt8(ascii: "-")
            length = 1
        }
        var rest = value.magnitude
        let digitCount = decimalDigitCount(rest)
        var place = length + digitCount
        length = place
        while rest >= 10 {
            let (quotient, remainder) = rest.quotientAndRemainder(dividingBy: 10)
            place -= 1
            bytes[place] = UInt8(ascii: "0") &+ UInt8(truncatingIfNeeded: remainder)
            rest = quotient
        }
        bytes[place - 1] = UInt8(ascii: "0") &+ UInt8(truncatingIfNeeded: rest)
        advance(length)
    }

    /// Writes exactly `width` digits, at most nine, with leading zeros.
    @inline(__always)
    func decimal(_ value: Int, width: Int) {
        let bytes = reserve(width)
        var rest = UInt32(truncatingIfNeeded: value)
        var place = width
        while place > 0 {
            place -= 1
            bytes[place] = UInt8(ascii: "0") &+ UInt8(truncatingIfNeeded: rest % 10)
            rest /= 10
        }
        advance(width)
    }
}

@inline(__always)
private func decimalDigitCount(_ value: UInt64) -> Int {
    var count = 1
    var bound: UInt64 = 10
    while value >= bound {
        count += 1
        if count == 20 { break }
        bound &*= 10
    }
    return count
}
