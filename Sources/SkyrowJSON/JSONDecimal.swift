/// A JSON number by its decimal value: `1`, `1.0` and `10e-1` are equal, and no digit is rounded away.
///
/// ```swift
/// JSONDecimal("0.10") == JSONDecimal("1e-1")
/// ```
package struct JSONDecimal: Hashable, Sendable {
    /// Digits from 0 to 9, without leading or trailing zeros; empty for zero, which has no sign.
    let digits: [UInt8]
    /// The power of ten of the first digit: 0 for `7` and `7.5`, -1 for `0.7`.
    let exponent: Int
    let isNegative: Bool

    /// The number of digits that are compared.
    package var digitCount: Int { digits.count }

    /// - Parameter digits: without leading or trailing zeros.
    init(digits: [UInt8], exponent: Int, isNegative: Bool) {
        self.digits = digits
        self.exponent = exponent
        self.isNegative = isNegative
    }

    /// Reads a number of RFC 8259; nil for any other text.
    package init?(_ text: String) {
        guard let document = try? JSONDocument(Array(text.utf8)) else { return nil }
        guard let value = document.withRoot({ JSONDecimal($0) }) else { return nil }
        self = value
    }

    /// Returns nil unless the value is a number.
    package init?(_ json: JSONView) {
        guard json.kind == .integer || json.kind == .number else { return nil }
        self.init(number: json.slice)
    }

    private init(number text: UnsafeBufferPointer<UInt8>) {
        var digits: [UInt8] = []
        digits.reserveCapacity(text.count)
        var wholeDigits = 0
        var isWhole = true
        var place = 0
        let isBelowZero = text.first == UInt8(ascii: "-")
        if isBelowZero { place = 1 }
        while place < text.count, text[place] | 0x20 != UInt8(ascii: "e") {
            if text[place] == UInt8(ascii: ".") {
                isWhole = false
            } else {
                digits.append(text[place] &- UInt8(ascii: "0"))
                if isWhole { wholeDigits += 1 }
            }
            place += 1
        }
        let leadingZeros = digits.prefix { $0 == 0 }.count
        digits.removeFirst(leadingZeros)
        while digits.last == 0 { digits.removeLast() }
        self.digits = digits
        isNegative = isBelowZero && !digits.isEmpty
        exponent =
            digits.isEmpty ? 0 : wholeDigits - leadingZeros - 1 + Self.exponent(of: text[min(place, text.count)...])
    }

    /// Returns the exponent after `e`; 0 without an exponent.
    private static func exponent(of text: Slice<UnsafeBufferPointer<UInt8>>) -> Int {
        var value = 0
        var isNegative = false
        for byte in text.dropFirst() {
            switch byte {
            case UInt8(ascii: "-"): isNegative = true
            case UInt8(ascii: "+"): break
            // Far more than PostgreSQL's numeric takes; further digits must not overflow.
            default: value = min(value * 10 + Int(byte &- UInt8(ascii: "0")), 1_000_000_000)
            }
        }
        return isNegative ? -value : value
    }

    /// Creates the shortest decimal that reads back as a double; nil for NaN and infinities.
    package init?(_ number: Double) {
        guard number.isFinite else { return nil }
        self.init("\(number)")
    }

    package init(_ integer: Int64) {
        var text = "\(integer)"
        self = text.withUTF8 { JSONDecimal(number: $0) }
    }

    /// Appends bytes that are the same for equal numbers only.
    func appendIdentity(to bytes: inout [UInt8]) {
        bytes.append(isNegative ? 1 : 0)
        withUnsafeBytes(of: exponent.littleEndian) { bytes.append(contentsOf: $0) }
        withUnsafeBytes(of: digits.count.littleEndian) { bytes.append(contentsOf: $0) }
        bytes.append(contentsOf: digits)
    }
}

extension JSONDecimal: CustomStringConvertible {
    /// Whole digits and an exponent, as PostgreSQL's `numeric` reads them: `-125e-2`.
    package var description: String {
        guard !digits.isEmpty else { return "0" }
        let whole = String(decoding: digits.map { $0 + UInt8(ascii: "0") }, as: UTF8.self)
        return "\(isNegative ? "-" : "")\(whole)e\(exponent - digits.count + 1)"
    }
}

extension JSONDecimal: Comparable {
    package static func < (a: JSONDecimal, b: JSONDecimal) -> Bool {
        if a.sign != b.sign { return a.sign < b.sign }
        return a.isNegative ? b.isSmaller(than: a) : a.isSmaller(than: b)
    }

    private var sign: Int { digits.isEmpty ? 0 : isNegative ? -1 : 1 }

    /// Whether the number is nearer to zero than another of the same sign; neither is zero.
    private func isSmaller(than other: JSONDecimal) -> Bool {
        if exponent != other.exponent { return exponent < other.exponent }
        return digits.lexicographicallyPrecedes(other.digits)
    }
}
