import SkyrowTestSupport
import Testing

@testable import SkyrowProtocol

@Suite struct CronSpecTests {
    private static let start = "2026-03-27 10:20:30"

    /// Reads `2026-03-27 10:20:30`.
    private static func time(_ text: String) throws -> CivilTime {
        let numbers = text.split { $0 == "-" || $0 == " " || $0 == ":" }.compactMap { Int($0) }
        try #require(numbers.count == 6)
        return CivilTime(
            year: numbers[0],
            month: numbers[1],
            day: numbers[2],
            hour: numbers[3],
            minute: numbers[4],
            second: numbers[5]
        )
    }

    /// Friday, 27 March 2026.
    @Test(
        arguments: [
            ("* * * * * *", start, "2026-03-27 10:20:31"),
            ("0 */5 * * * *", start, "2026-03-27 10:25:00"),
            ("*/5 * * * *", start, "2026-03-27 10:25:00"),
            ("30 20 10 * * *", start, "2026-03-28 10:20:30"),
            ("31 20 10 * * *", start, "2026-03-27 10:20:31"),
            ("0 30 2 * * MON-FRI", start, "2026-03-30 02:30:00"),
            ("0 30 2 ? * mon,Wed", start, "2026-03-30 02:30:00"),
            ("0 0 0 1 JAN ?", start, "2027-01-01 00:00:00"),
            ("0 0 12 31 * *", start, "2026-03-31 12:00:00"),
            ("0 0 12 31 4-6 *", start, "2026-05-31 12:00:00"),
            ("0 0 0 29 2 *", start, "2028-02-29 00:00:00"),
            ("0 0 0 29 2 *", "2096-03-01 00:00:00", "2104-02-29 00:00:00"),
            // Both days are restricted: either is due.
            ("0 0 0 1 * SUN", start, "2026-03-29 00:00:00"),
            ("0 0 0 28 * SUN", start, "2026-03-28 00:00:00"),
            // A star restricts nothing, with a step too.
            ("0 0 0 */2 * SUN", start, "2026-03-29 00:00:00"),
            ("0 0 0 13 * ?", start, "2026-04-13 00:00:00"),
            ("0 50/3 * * * *", start, "2026-03-27 10:50:00"),
            ("0 50/3 * * * *", "2026-03-27 10:59:00", "2026-03-27 11:50:00"),
            ("0 10-30/10,45 * * * *", start, "2026-03-27 10:30:00"),
            ("59 59 23 31 12 *", "2026-12-31 23:59:59", "2027-12-31 23:59:59"),
            ("  0   0\t* * * *  ", start, "2026-03-27 11:00:00"),
            ("@hourly", start, "2026-03-27 11:00:00"), ("@daily", start, "2026-03-28 00:00:00"),
            ("@midnight", start, "2026-03-28 00:00:00"), ("@weekly", start, "2026-03-29 00:00:00"),
            ("@monthly", start, "2026-04-01 00:00:00"), ("@yearly", start, "2027-01-01 00:00:00"),
            ("@annually", start, "2027-01-01 00:00:00"),
            ("@every 1m30s", start, "2026-03-27 10:22:00"), ("@every 90.0s", start, "2026-03-27 10:22:00"),
            ("@every 1.5h", start, "2026-03-27 11:50:30"), ("@every 500ms", start, "2026-03-27 10:20:31"),
            ("@every 2.9s", start, "2026-03-27 10:20:32"), ("@every 24h", "2026-12-31 12:00:00", "2027-01-01 12:00:00"),
        ]
    )
    func timesAreDue(spec: String, after: String, due: String) throws {
        let next = try CronSpec(spec).next(after: Self.time(after))
        #expect(next?.description == due)
    }

    @Test(
        arguments: [
            ("", "five fields"), ("* * * *", "five fields"), ("* * * * * * *", "five fields"),
            ("60 * * * * *", "second"), ("0 60 * * * *", "minute"), ("0 0 24 * * *", "hour"),
            ("0 0 0 0 * *", "day of the month"), ("0 0 0 32 * *", "day of the month"), ("0 0 0 * 13 *", "month"),
            ("0 0 0 * FOO *", "month"), ("0 0 0 * * 7", "day of the week"), ("0 0 0 * * JAN", "day of the week"),
            ("0 5-1 * * * *", "minute"), ("0 1-2-3 * * * *", "minute"), ("0 */0 * * * *", "minute"),
            ("0 */5/5 * * * *", "minute"), ("0 1,,2 * * * *", "minute"), ("0 *-5 * * * *", "minute"),
            ("0 -1 * * * *", "minute"), ("0 1.5 * * * *", "minute"), ("0 */99999999999999999999 * * * *", "minute"),
            ("0 0 0 30 2 *", "No date"), ("0 0 0 31 4,6,9,11 *", "No date"),
            ("@always", "@hourly"), ("@every", "@hourly"), ("@every ", "duration"), ("@every 0s", "duration"),
            ("@every -1s", "duration"), ("@every 1", "duration"), ("@every 1d", "duration"), ("@every .s", "duration"),
            ("@every 9999999999h", "duration"), ("@every 50000h", "duration"),
            (String(repeating: "*", count: 300), "255 bytes"),
        ]
    )
    func linesAreRefused(spec: String, reason: String) {
        let fault = #expect(throws: RegistrationFault.self) { try CronSpec(spec) }
        #expect(fault?.description.contains(reason) == true, "\(spec)")
    }

    /// A field of a reference that tries each value, as robfig's tests describe it.
    private struct Reference {
        let fields: [Set<Int>]
        let isFree: Bool

        func matches(_ time: CivilTime) -> Bool {
            let weekday = (time.days + 6) % 7
            let isDay =
                isFree
                ? fields[3].contains(time.day) && fields[5].contains(weekday)
                : fields[3].contains(time.day) || fields[5].contains(weekday)
            return isDay && fields[4].contains(time.month) && fields[2].contains(time.hour)
                && fields[1].contains(time.minute) && fields[0].contains(time.second)
        }
    }

    /// Draws a field: its text, its values, and whether it begins with a star.
    private static func field(
        _ range: ClosedRange<Int>,
        _ random: inout SeededGenerator
    ) -> (text: String, values: Set<Int>, isStar: Bool) {
        let first = Int.random(in: range, using: &random)
        let last = Int.random(in: first...range.upperBound, using: &random)
        let step = Int.random(in: 1...7, using: &random)
        switch Int.random(in: 0..<6, using: &random) {
        case 0: return ("*", Set(range), true)
        case 1: return ("*/\(step)", Set(stride(from: range.lowerBound, through: range.upperBound, by: step)), true)
        case 2: return ("\(first)-\(last)", Set(first...last), false)
        case 3: return ("\(first)-\(last)/\(step)", Set(stride(from: first, through: last, by: step)), false)
        case 4: return ("\(first),\(last)", [first, last], false)
        default: return ("\(first)/\(step)", Set(stride(from: first, through: range.upperBound, by: step)), false)
        }
    }

    /// Compares each minute of some days with the reference; the seconds are the same in both.
    @Test func drawnLinesAgreeWithAReference() throws {
        var random = SeededGenerator.forTest()
        for _ in 0..<seededCases(60) {
            let minutes = Self.field(0...59, &random)
            let hours = Self.field(0...23, &random)
            let days = Self.field(1...31, &random)
            let weekdays = Self.field(0...6, &random)
            let line = "0 \(minutes.text) \(hours.text) \(days.text) * \(weekdays.text)"
            let spec = try CronSpec(line)
            let reference = Reference(
                fields: [[0], minutes.values, hours.values, days.values, Set(1...12), weekdays.values],
                isFree: days.isStar || weekdays.isStar
            )
            let first = Int.random(in: 0..<10_000, using: &random)
            var now = CivilTime(days: first, second: Int.random(in: 0..<86_400, using: &random))
            let end = CivilTime(days: first + 3, second: 0)
            var minute = CivilTime(days: first, second: (now.secondOfDay / 60 + 1) * 60)
            while minute < end {
                if reference.matches(minute) {
                    #expect(spec.next(after: now) == minute, "\(line) after \(now)")
                    now = minute
                }
                minute = CivilTime(days: minute.days, second: minute.secondOfDay + 60)
            }
            if let next = spec.next(after: now) { #expect(next >= end, "\(line) after \(now)") }
        }
    }

    @Test(
        arguments: [
            ("1h2m3s", Duration.seconds(3723)), ("1.5s", .milliseconds(1500)), (".5m", .seconds(30)),
            ("5.s", .seconds(5)),
            ("10us10µs", .microseconds(20)), ("7ns", .nanoseconds(7)), ("0s", .zero), ("", nil), ("5", nil), ("s", nil),
            ("-1s", nil), ("1s ", nil), ("1e3s", nil), ("9223372036854775808ns", nil), ("2562048h", nil),
        ] as [(String, Duration?)]
    )
    func durationsAreRead(text: String, duration: Duration?) {
        #expect(Duration(goText: text) == duration)
        if let duration { #expect(Duration(goText: duration.goText) == duration) }
    }
}
