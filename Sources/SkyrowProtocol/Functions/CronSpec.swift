import SkyrowJSON

/// When a timer is due: six fields with seconds, five without, a name such as `@daily`, or `@every 90s`.
///
/// ```swift
/// let spec = try CronSpec("0 30 2 * * MON-FRI")
/// spec.next(after: CivilTime(year: 2026, month: 3, day: 28))   // 2026-03-30 02:30:00
/// ```
///
/// The rules are those of robfig/cron v1. When both days are restricted, a day that fits either of them is due; a field that
/// begins with `*` or `?` restricts nothing.
package struct CronSpec: Hashable, Sendable {
    /// The text as it was written.
    package let text: String
    private let rule: Rule

    private enum Rule: Hashable, Sendable {
        /// The seconds between two times.
        case every(Int)
        case fields(CronFields)
    }

    /// Upper bound on the bytes of a text.
    package static let maximumBytes = 255
    /// The years in which a time must be due: 29 February comes after eight years at the turn of most centuries, and a first of
    /// a month falls on each weekday within eleven.
    private static let years = 12
    private static let longestInterval = Duration.seconds(5 * 366 * CivilTime.secondsPerDay)

    private static let named = [
        "@yearly": "0 0 0 1 1 *", "@annually": "0 0 0 1 1 *", "@monthly": "0 0 0 1 * *", "@weekly": "0 0 0 * * 0",
        "@daily": "0 0 0 * * *", "@midnight": "0 0 0 * * *", "@hourly": "0 0 * * * *",
    ]

    /// Throws what is wrong with it, naming the field.
    package init(_ text: String) throws(RegistrationFault) {
        self.text = text
        guard text.utf8.count <= Self.maximumBytes else {
            throw RegistrationFault("A cron line can have at most \(Self.maximumBytes) bytes.")
        }
        if text.hasPrefix("@every ") {
            guard let interval = Duration(goText: String(text.dropFirst(7))), interval > .zero,
                interval <= Self.longestInterval
            else {
                throw RegistrationFault("\"@every\" needs a duration of at most five years, such as 1m30s.")
            }
            // As robfig's ConstantDelaySchedule: whole seconds, at least one.
            rule = .every(max(1, Int(interval.components.seconds)))
            return
        }
        if text.hasPrefix("@"), Self.named[text] == nil {
            throw RegistrationFault(
                "\"\(excerpt(of: text))\" is no name of a schedule; they are @yearly, @annually, @monthly, @weekly, @daily, "
                    + "@midnight, @hourly and @every."
            )
        }
        let fields = try CronFields(Self.named[text] ?? text)
        rule = .fields(fields)
        guard next(after: CivilTime(year: 2023, month: 1, day: 1)) != nil else {
            throw RegistrationFault("No date has this day of the month in one of these months.")
        }
    }

    /// Returns the first time after another; nil for none within twelve years.
    package func next(after time: CivilTime) -> CivilTime? {
        switch rule {
        case .every(let seconds):
            return CivilTime(days: time.days, second: time.secondOfDay + seconds)
        case .fields(let fields):
            var days = time.days
            var second = time.secondOfDay + 1
            let end = daysFromEpoch(year: time.year + Self.years, month: 12, day: 31)
            while days <= end {
                if fields.matches(days: days), let due = fields.firstSecond(from: second) {
                    return CivilTime(days: days, second: due)
                }
                days += 1
                second = 0
            }
            return nil
        }
    }
}

/// The fields of a cron line, each as a set of bits.
private struct CronFields: Hashable, Sendable {
    private struct Field {
        let name: String
        let range: ClosedRange<Int>
        var words: [String] = []
    }

    private static let all = [
        Field(name: "second", range: 0...59), Field(name: "minute", range: 0...59), Field(name: "hour", range: 0...23),
        Field(name: "day of the month", range: 1...31),
        Field(
            name: "month",
            range: 1...12,
            words: ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
        ),
        Field(name: "day of the week", range: 0...6, words: ["sun", "mon", "tue", "wed", "thu", "fri", "sat"]),
    ]

    /// Marks a field with `*` or `?`, which does not restrict the days.
    private static let star: UInt64 = 1 << 63

    private let bits: [UInt64]

    init(_ text: String) throws(RegistrationFault) {
        var texts = text.split { $0 == " " || $0 == "\t" }.map { String($0) }
        if texts.count == Self.all.count - 1 { texts.insert("0", at: 0) }
        guard texts.count == Self.all.count else {
            throw RegistrationFault("A cron line has five fields, or six with seconds; this one has \(texts.count).")
        }
        var bits: [UInt64] = []
        for (field, text) in zip(Self.all, texts) { bits.append(try Self.bits(of: text, field)) }
        self.bits = bits
    }

    private static func bits(of text: String, _ field: Field) throws(RegistrationFault) -> UInt64 {
        var bits: UInt64 = 0
        for part in text.split(separator: ",", omittingEmptySubsequences: false) {
            bits |= try Self.bits(ofPart: part, field)
        }
        return bits
    }

    private static func bits(ofPart part: Substring, _ field: Field) throws(RegistrationFault) -> UInt64 {
        let fault = RegistrationFault(
            "The \(field.name) \"\(excerpt(of: String(part)))\" must be *, ?, a number from \(field.range.lowerBound) to "
                + "\(field.range.upperBound)\(field.words.isEmpty ? "" : " or a name"), a range, or one of these with /step."
        )
        let halves = part.split(separator: "/", omittingEmptySubsequences: false)
        let ends = halves[0].split(separator: "-", omittingEmptySubsequences: false)
        guard halves.count <= 2, ends.count <= 2 else { throw fault }
        let isStar = halves[0] == "*" || halves[0] == "?"
        var first = field.range.lowerBound
        var last = field.range.upperBound
        if !isStar {
            guard let start = number(ends[0], field) else { throw fault }
            first = start
            if ends.count == 2 {
                guard let end = number(ends[1], field), start <= end else { throw fault }
                last = end
            } else if halves.count == 1 {
                last = start
            }
        }
        var step = 1
        if halves.count == 2 {
            guard let given = digits(halves[1]), given > 0 else { throw fault }
            step = given
        }
        return stride(from: first, through: last, by: step).reduce(isStar ? star : 0) { $0 | 1 << UInt64($1) }
    }

    private static func number(_ text: Substring, _ field: Field) -> Int? {
        let place = field.words.firstIndex(of: text.lowercased())
        let value = place.map { $0 + field.range.lowerBound } ?? digits(text)
        return value.flatMap { field.range.contains($0) ? $0 : nil }
    }

    /// One to four decimal digits.
    private static func digits(_ text: Substring) -> Int? {
        let isNumber = (1...4).contains(text.utf8.count) && text.utf8.allSatisfy { (0x30...0x39).contains($0) }
        return isNumber ? Int(text) : nil
    }

    private func has(_ value: Int, _ field: Int) -> Bool { bits[field] & 1 << UInt64(value) != 0 }

    /// - Parameter days: The days since 2000-01-01.
    func matches(days: Int) -> Bool {
        let (_, month, day) = civilDate(daysFromEpoch: days)
        guard has(month, 4) else { return false }
        let isDayOfMonth = has(day, 3)
        // The first of these days is a Saturday.
        let isDayOfWeek = has(floorDivide(days + 6, by: 7).remainder, 5)
        let isFree = bits[3] & Self.star != 0 || bits[5] & Self.star != 0
        return isFree ? isDayOfMonth && isDayOfWeek : isDayOfMonth || isDayOfWeek
    }

    /// Returns the first due second of a day, counted from midnight, that is not before another one.
    func firstSecond(from start: Int) -> Int? {
        guard start < CivilTime.secondsPerDay else { return nil }
        for hour in start / 3600..<24 where has(hour, 2) {
            for minute in max(0, start / 60 - hour * 60)..<60 where has(minute, 1) {
                let begun = hour * 3600 + minute * 60
                for second in max(0, start - begun)..<60 where has(second, 0) { return begun + second }
            }
        }
        return nil
    }
}
