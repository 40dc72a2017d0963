package import SkyrowModel

/// The days from 0000-03-01, where the arithmetic below begins, to PostgreSQL's epoch, 2000-01-01.
private let daysFromMarchOfYearZero = 730_425
private let microsecondsPerDay: Int64 = 86_400_000_000

/// From the earliest instant of `timestamptz`, 4714-11-24 BC, to the first one after its range, 294277-01-01.
private let timestampRange: Range<Int64> = -211_813_488_000_000_000..<9_223_371_331_200_000_000

/// The days that an instant in that range may have, with some offset; the microseconds of all of them fit 64 bits.
private let timestampDays =
    Int(timestampRange.lowerBound / microsecondsPerDay) - 1...Int(timestampRange.upperBound / microsecondsPerDay) + 1

extension Timestamp {
    /// Reads an RFC 3339 instant with any offset; digits after the microseconds are rounded.
    ///
    /// Years outside 0000 to 9999 have a sign and six digits, as in ECMAScript (`-000043-03-15T12:00:00Z` is in 44 BC).
    /// `infinity` and `-infinity` are those of PostgreSQL. Throws `108 InvalidArgument` for any other text, for dates that do not
    /// exist (2023-02-29), for leap seconds, and for instants that PostgreSQL's `timestamptz` cannot hold.
    package init(rfc3339 text: String) throws(SkyrowError) {
        var text = text
        let parsed = text.withUTF8 { bytes in
            Result { () throws(SkyrowError) in try Timestamp(rfc3339: UnsafeRawBufferPointer(bytes)) }
        }
        self = try parsed.get()
    }

    /// Reads the same from UTF-8.
    package init(rfc3339 text: UnsafeRawBufferPointer) throws(SkyrowError) {
        let mayBeInfinite = text.last == UInt8(ascii: "y")
        if mayBeInfinite, text.elementsEqual("infinity".utf8) {
            self = .infinity
        } else if mayBeInfinite, text.elementsEqual("-infinity".utf8) {
            self = .negativeInfinity
        } else {
            var reader = InstantReader(text: text)
            self = try reader.instant()
        }
    }

    /// The RFC 3339 form in UTC, as it is sent: `2019-02-07T06:42:59.871181Z`.
    package var rfc3339: String {
        let writer = JSONWriter(capacity: 64)
        writer.rfc3339(self)
        return writer.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
    }
}

/// Reads the parts of an instant in their order.
private struct InstantReader {
    let text: UnsafeRawBufferPointer
    var place = 0

    private static let malformed = SkyrowError.invalidArgument(
        "An instant must have the form 2019-02-07T06:42:59.871181Z (RFC 3339)."
    )

    private static let outOfRange = SkyrowError.invalidArgument(
        "This instant is outside the range from 4714 BC to the year 294276."
    )

    mutating func instant() throws(SkyrowError) -> Timestamp {
        let year = try year()
        try skip("-")
        let month = try digits(2)
        try skip("-")
        let day = try digits(2)
        guard (1...12).contains(month), (1...daysInMonth(month, year: year)).contains(day) else {
            throw .invalidArgument("This date does not exist.")
        }
        guard place < text.count, text[place] | 0x20 == UInt8(ascii: "t") else { throw InstantReader.malformed }
        place += 1
        let hour = try digits(2)
        try skip(":")
        let minute = try digits(2)
        try skip(":")
        let second = try digits(2)
        guard hour < 24, minute < 60, second < 60 else {
            throw .invalidArgument(
                second == 60
                    ? "Leap seconds cannot be stored; use the second before or after."
                    : "This time of day does not exist."
            )
        }
        let fraction = try fraction()
        let offset = try offset()
        guard place == text.count else { throw InstantReader.malformed }
        let days = daysFromEpoch(year: year, month: month, day: day)
        guard timestampDays.contains(days) else { throw InstantReader.outOfRange }
        let seconds = Int64(hour * 3600 + minute * 60 + second - offset)
        let microseconds = Int64(days) * microsecondsPerDay + seconds * 1_000_000 + fraction
        guard timestampRange.contains(microseconds) else { throw InstantReader.outOfRange }
        return Timestamp(microseconds: microseconds)
    }

    private mutating func year() throws(SkyrowError) -> Int {
        guard place < text.count else { throw InstantReader.malformed }
        switch text[place] {
        case UInt8(ascii: "+"):
            place += 1
            return try digits(6)
        case UInt8(ascii: "-"):
            place += 1
            let year = try digits(6)
            // ECMAScript forbids `-000000`, a second form of the year zero.
            guard year > 0 else { throw InstantReader.malformed }
            return -year
        default:
            return try digits(4)
        }
    }

    /// Reads the fraction in microseconds, rounded half up.
    private mutating func fraction() throws(SkyrowError) -> Int64 {
        guard place < text.count, text[place] == UInt8(ascii: ".") else { return 0 }
        place += 1
        let start = place
        var value: Int64 = 0
        while place < text.count, isDigit(text[place]) {
            let digit = Int64(text[place] - UInt8(ascii: "0"))
            if place - start < 6 {
                value = value * 10 + digit
            } else if place - start == 6, digit >= 5 {
                value += 1
            }
            place += 1
        }
        guard place > start else { throw InstantReader.malformed }
        for _ in min(place - start, 6)..<6 { value *= 10 }
        return value
    }

    /// Reads the offset from UTC in seconds.
    private mutating func offset() throws(SkyrowError) -> Int {
        guard place < text.count else { throw InstantReader.malformed }
        let sign = text[place]
        place += 1
        if sign | 0x20 == UInt8(ascii: "z") { return 0 }
        guard sign == UInt8(ascii: "+") || sign == UInt8(ascii: "-") else { throw InstantReader.malformed }
        let hours = try digits(2)
        try skip(":")
        let minutes = try digits(2)
        guard hours < 24, minutes < 60 else { throw .invalidArgument("This offset from UTC does not exist.") }
        return (hours * 3600 + minutes * 60) * (sign == UInt8(ascii: "-") ? -1 : 1)
    }

    private mutating func digits(_ count: Int) throws(SkyrowError) -> Int {
        var value = 0
        for _ in 0..<count {
            guard place < text.count, isDigit(text[place]) else { throw InstantReader.malformed }
            value = value * 10 + Int(text[place] - UInt8(ascii: "0"))
            place += 1
        }
        return value
    }

    private mutating func skip(_ character: Unicode.Scalar) throws(SkyrowError) {
        guard place < text.count, UInt32(text[place]) == character.value else { throw InstantReader.malformed }
        place += 1
    }
}

extension JSONWriter {
    /// Writes an instant as a bare string.
    package func timestamp(_ value: Timestamp) {
        separate()
        append(UInt8(ascii: "\""))
        rfc3339(value)
        append(UInt8(ascii: "\""))
    }

    /// Writes the characters of an instant, without quotes.
    package func rfc3339(_ value: Timestamp) {
        if value == .infinity { return append("infinity") }
        if value == .negativeInfinity { return append("-infinity") }
        let (days, rest) = floorDivide(Int(value.microseconds), by: Int(microsecondsPerDay))
        let (year, month, day) = civilDate(daysFromEpoch: days)
        if (0...9999).contains(year) {
            let bytes = reserve(4)
            putPair(year / 100, at: bytes)
            putPair(year % 100, at: bytes + 2)
            advance(4)
        } else {
            append(UInt8(ascii: year < 0 ? "-" : "+"))
            decimal(abs(year), width: 6)
        }
        let seconds = rest / 1_000_000
        let bytes = reserve(15)
        bytes[0] = UInt8(ascii: "-")
        putPair(month, at: bytes + 1)
        bytes[3] = UInt8(ascii: "-")
        putPair(day, at: bytes + 4)
        bytes[6] = UInt8(ascii: "T")
        putPair(seconds / 3600, at: bytes + 7)
        bytes[9] = UInt8(ascii: ":")
        putPair(seconds / 60 % 60, at: bytes + 10)
        bytes[12] = UInt8(ascii: ":")
        putPair(seconds % 60, at: bytes + 13)
        advance(15)
        let fraction = rest % 1_000_000
        if fraction > 0 {
            let bytes = reserve(7)
            bytes[0] = UInt8(ascii: ".")
            putPair(fraction / 10_000, at: bytes + 1)
            putPair(fraction / 100 % 100, at: bytes + 3)
            putPair(fraction % 100, at: bytes + 5)
            var length = 7
            while bytes[length - 1] == UInt8(ascii: "0") { length -= 1 }
            advance(length)
        }
        append(UInt8(ascii: "Z"))
    }
}

/// Writes a number below 100 as two digits.
@inline(__always)
private func putPair(_ value: Int, at bytes: UnsafeMutablePointer<UInt8>) {
    let value = UInt32(truncatingIfNeeded: value)
    bytes[0] = UInt8(truncatingIfNeeded: value / 10) &+ UInt8(ascii: "0")
    bytes[1] = UInt8(truncatingIfNeeded: value % 10) &+ UInt8(ascii: "0")
}

@inline(__always)
package func floorDivide(_ value: Int, by divisor: Int) -> (quotient: Int, remainder: Int) {
    let (quotient, remainder) = value.quotientAndRemainder(dividingBy: divisor)
    return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
}

// The proleptic Gregorian calendar by eras of 400 years that begin in March
// (Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms").

package func daysFromEpoch(year: Int, month: Int, day: Int) -> Int {
    let year = month <= 2 ? year - 1 : year
    let era = (year >= 0 ? year : year - 399) / 400
    let yearOfEra = year - era * 400
    let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
    let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
    return era * 146_097 + dayOfEra - daysFromMarchOfYearZero
}

package func civilDate(daysFromEpoch days: Int) -> (year: Int, month: Int, day: Int) {
    let days = days + daysFromMarchOfYearZero
    let era = (days >= 0 ? days : days - 146_096) / 146_097
    let dayOfEra = days - era * 146_097
    let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let monthFromMarch = (5 * dayOfYear + 2) / 153
    let day = dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
    let month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
    return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, day)
}

package func daysInMonth(_ month: Int, year: Int) -> Int {
    switch month {
    case 4, 6, 9, 11: 30
    case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
    default: 31
    }
}
