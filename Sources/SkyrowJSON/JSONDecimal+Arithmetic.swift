// Exact sums and products of decimals, as PostgreSQL's `numeric` has them.

extension JSONDecimal {
    /// The power of ten of the last digit.
    private var lastExponent: Int { exponent - digits.count + 1 }

    /// Creates a decimal from the coefficients of ascending powers of ten, which need not be below ten.
    private init(lowestFirst sums: [Int], lastExponent: Int, isNegative: Bool) {
        var digits: [UInt8] = []
        digits.reserveCapacity(sums.count + 2)
        var carry = 0
        for sum in sums {
            carry += sum
            digits.append(UInt8(carry % 10))
            carry /= 10
        }
        while carry > 0 {
            digits.append(UInt8(carry % 10))
            carry /= 10
        }
        while digits.last == 0 { digits.removeLast() }
        let zeros = digits.prefix { $0 == 0 }.count
        self.init(
            digits: digits.dropFirst(zeros).reversed(),
            exponent: digits.isEmpty ? 0 : lastExponent + digits.count - 1,
            isNegative: isNegative && !digits.isEmpty
        )
    }

    /// Returns the sum; nil if the two are so far apart that it has more than some thousand digits.
    package func adding(_ other: JSONDecimal) -> JSONDecimal? {
        if digits.isEmpty { return other }
        if other.digits.isEmpty { return self }
        let low = min(lastExponent, other.lastExponent)
        let count = max(exponent, other.exponent) - low + 1
        guard count <= Self.maximumDigits else { return nil }
        // The number farther from zero determines the sign, so that the difference of the magnitudes is not negative.
        let isLarger = magnitude >= other.magnitude
        let (large, small) = isLarger ? (self, other) : (other, self)
        var sums = [Int](repeating: 0, count: count)
        for (place, digit) in large.digits.reversed().enumerated() {
            sums[large.lastExponent - low + place] += Int(digit)
        }
        let isSum = isNegative == other.isNegative
        for (place, digit) in small.digits.reversed().enumerated() {
            sums[small.lastExponent - low + place] += isSum ? Int(digit) : -Int(digit)
        }
        for place in sums.indices.dropLast() where sums[place] < 0 {
            sums[place] += 10
            sums[place + 1] -= 1
        }
        return JSONDecimal(lowestFirst: sums, lastExponent: low, isNegative: large.isNegative)
    }

    /// Returns the product; nil if it has more than some thousand digits.
    package func multiplied(by other: JSONDecimal) -> JSONDecimal? {
        guard !digits.isEmpty, !other.digits.isEmpty else {
            return JSONDecimal(digits: [], exponent: 0, isNegative: false)
        }
        guard digits.count + other.digits.count <= Self.maximumDigits else { return nil }
        var sums = [Int](repeating: 0, count: digits.count + other.digits.count - 1)
        for (place, digit) in digits.reversed().enumerated() {
            for (otherPlace, otherDigit) in other.digits.reversed().enumerated() {
                sums[place + otherPlace] += Int(digit) * Int(otherDigit)
            }
        }
        return JSONDecimal(
            lowestFirst: sums,
            lastExponent: lastExponent + other.lastExponent,
            isNegative: isNegative != other.isNegative
        )
    }

    /// Upper bound on the digits of one operation, which limits its work.
    private static var maximumDigits: Int { 4000 }

    private var magnitude: JSONDecimal { JSONDecimal(digits: digits, exponent: exponent, isNegative: false) }

    /// The number of characters of ``plainText``.
    package var plainLength: Int {
        let whole = max(exponent + 1, 1)
        let fraction = max(-lastExponent, 0)
        return (isNegative ? 1 : 0) + whole + (fraction > 0 && !digits.isEmpty ? fraction + 1 : 0)
    }

    /// The number without an exponent and without trailing zeros: `-0.0125`, `1200`.
    package var plainText: String {
        guard !digits.isEmpty else { return "0" }
        var text = [UInt8](isNegative ? "-".utf8 : "".utf8)
        text.reserveCapacity(plainLength)
        for power in stride(from: max(exponent, 0), through: min(lastExponent, 0), by: -1) {
            if power == -1 { text.append(UInt8(ascii: ".")) }
            let place = exponent - power
            text.append(UInt8(ascii: "0") + (digits.indices.contains(place) ? digits[place] : 0))
        }
        return String(decoding: text, as: UTF8.self)
    }
}
