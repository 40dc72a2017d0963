import SkyrowJSON

/// A date and a time of day in a time zone that is known elsewhere.
package struct CivilTime: Hashable, Sendable, Comparable, CustomStringConvertible {
    package var year: Int
    package var month: Int
    package var day: Int
    package var hour: Int
    package var minute: Int
    package var second: Int

    package init(year: Int, month: Int, day: Int, hour: Int = 0, minute: Int = 0, second: Int = 0) {
        self.year = year
        self.month = month
        self.day = day
        self.hour = hour
        self.minute = minute
        self.second = second
    }

    /// - Parameters:
    ///   - days: The days since 2000-01-01.
    ///   - second: The seconds since midnight; they may be outside of the day.
    init(days: Int, second: Int) {
        let (more, rest) = floorDivide(second, by: Self.secondsPerDay)
        let (year, month, day) = civilDate(daysFromEpoch: days + more)
        self.init(year: year, month: month, day: day, hour: rest / 3600, minute: rest / 60 % 60, second: rest % 60)
    }

    static let secondsPerDay = 86_400

    /// The days since 2000-01-01, a Saturday.
    var days: Int { daysFromEpoch(year: year, month: month, day: day) }

    var secondOfDay: Int { hour * 3600 + minute * 60 + second }

    package static func < (a: CivilTime, b: CivilTime) -> Bool {
        (a.days, a.secondOfDay) < (b.days, b.secondOfDay)
    }

    /// Such as `2026-03-29 02:30:00`.
    package var description: String {
        func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
        return "\(year)-\(two(month))-\(two(day)) \(two(hour)):\(two(minute)):\(two(second))"
    }
}
