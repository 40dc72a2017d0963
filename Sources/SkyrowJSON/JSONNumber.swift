/// A JSON number as a 64-bit value.
package enum JSONNumber: Hashable, Sendable {
    /// A number without fraction and exponent; every digit is kept.
    case integer(Int64)
    /// A number that is rounded to the nearest double.
    case double(Double)
    /// An integer that does not fit 64 bits, or a number outside of the range of a double.
    case outOfRange
}

extension JSONView {
    /// The number; nil for any other value.
    package var number: JSONNumber? {
        switch kind {
        case .integer: parseInteger(slice).map { .integer($0) } ?? .outOfRange
        case .number: parseDouble(slice)
        case .null, .false, .true, .string, .escapedString, .array, .object: nil
        }
    }

    /// The value of a whole number that fits, also if it was written with a fraction (`20.0`) or exponent.
    package var wholeNumber: Int64? {
        switch number {
        case .integer(let value): value
        case .double(let value): Int64(exactly: value)
        case .outOfRange, nil: nil
        }
    }

    /// The number of characters of a number in plain decimal form, with the digits that it was written with and without an
    /// exponent, as PostgreSQL stores and writes numbers of `jsonb`; zero for any other value.
    package var plainLength: Int {
        switch kind {
        case .integer: slice.count
        case .number: SkyrowJSON.plainLength(slice)
        case .null, .false, .true, .string, .escapedString, .array, .object: 0
        }
    }

    /// Whether the value is a number other than zero that rounds to a double of zero.
    package var isTiny: Bool {
        guard case .double(let value) = number, value.isZero else { return false }
        return slice.prefix { $0 | 0x20 != UInt8(ascii: "e") }.contains { isDigit($0) && $0 != UInt8(ascii: "0") }
    }
}

private func plainLength(_ slice: UnsafeBufferPointer<UInt8>) -> Int {
    var i = slice[0] == UInt8(ascii: "-") ? 1 : 0
    let sign = i
    var (whole, fraction, leadingZeros) = (0, 0, 0)
    var isFraction = false
    var isZero = true
    while i < slice.count, slice[i] | 0x20 != UInt8(ascii: "e") {
        if slice[i] == UInt8(ascii: ".") {
            isFraction = true
        } else {
            if isFraction { fraction += 1 } else { whole += 1 }
            if slice[i] != UInt8(ascii: "0") { isZero = false }
            if isZero { leadingZeros += 1 }
        }
        i += 1
    }
    let exponent = exponent(slice[i...])
    let wholeDigits = isZero ? 1 : max(1, whole + exponent - leadingZeros)
    let fractionDigits = max(0, fraction - exponent)
    return sign + wholeDigits + (fractionDigits > 0 ? 1 + fractionDigits : 0)
}

/// Returns the exponent after the digits of a number, `e-5` or nothing. It is clamped far outside of the range of a double.
private func exponent(_ slice: Slice<UnsafeBufferPointer<UInt8>>) -> Int {
    var digits = slice.dropFirst()
    guard let first = digits.first else { return 0 }
    let isBelow = first == UInt8(ascii: "-")
    if isBelow || first == UInt8(ascii: "+") { digits = digits.dropFirst() }
    // More digits must not overflow.
    let value = digits.reduce(0) { min($0 * 10 + Int($1 - UInt8(ascii: "0")), 1_000_000) }
    return isBelow ? -value : value
}

private func parseInteger(_ slice: UnsafeBufferPointer<UInt8>) -> Int64? {
    let isNegative = slice[0] == UInt8(ascii: "-")
    let digits = slice[(isNegative ? 1 : 0)...]
    if digits.count <= 18 {
        // Eighteen digits cannot overflow.
        var value: Int64 = 0
        for byte in digits { value = value &* 10 &+ Int64(byte &- UInt8(ascii: "0")) }
        return isNegative ? -value : value
    }
    // Counts downwards, because there is one more negative number than there are positive ones.
    var value: Int64 = 0
    for byte in digits {
        let (tenfold, overflows) = value.multipliedReportingOverflow(by: 10)
        let (sum, overflowsToo) = tenfold.subtractingReportingOverflow(Int64(byte &- UInt8(ascii: "0")))
        if overflows || overflowsToo { return nil }
        value = sum
    }
    if isNegative { return value }
    return value == .min ? nil : -value
}

/// The powers of ten that are exact as a double.
private let powersOfTen: [Double] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20,
    1e21, 1e22,
]

private func parseDouble(_ slice: UnsafeBufferPointer<UInt8>) -> JSONNumber {
    var mantissa: UInt64 = 0
    var digitCount = 0
    var scale = 0
    var i = 0
    let isNegative = slice[0] == UInt8(ascii: "-")
    if isNegative { i = 1 }
    var isFraction = false
    while i < slice.count, slice[i] | 0x20 != UInt8(ascii: "e") {
        if slice[i] == UInt8(ascii: ".") {
            isFraction = true
        } else {
            mantissa = mantissa &* 10 &+ UInt64(slice[i] &- UInt8(ascii: "0"))
            if mantissa > 0 { digitCount += 1 }
            if isFraction { scale -= 1 }
        }
        i += 1
    }
    scale += exponent(slice[i...])
    // Both factors are exact, so the one operation rounds correctly (Clinger 1990).
    if digitCount <= 15, (-22...22).contains(scale) {
        let whole = Double(mantissa)
        let value = scale < 0 ? whole / powersOfTen[-scale] : whole * powersOfTen[scale]
        return .double(isNegative ? -value : value)
    }
    // The standard library rounds correctly and ignores the locale.
    guard let value = Double(String(decoding: slice, as: UTF8.self)), value.isFinite else { return .outOfRange }
    return .double(value)
}
