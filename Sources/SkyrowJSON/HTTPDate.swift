import SkyrowModel

/// Times in the format of HTTP (RFC 9110, 5.6.7) and mails (RFC 5322, 3.3): `Sun, 06 Nov 1994 08:49:37 GMT`.
package enum HTTPDate {
    private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
    /// The first is the weekday of PostgreSQL's epoch.
    private static let weekdays = ["Sat", "Sun", "Mon", "Tue", "Wed", "Thu", "Fri"]
    private static let epoch = Int(Timestamp.unixEpochOffset / 1_000_000)

    /// - Parameters:
    ///   - second: since 1970-01-01T00:00:00Z
    ///   - zone: the end of the text, `+0000` for mails.
    package static func text(second: Int, zone: String = "GMT") -> String {
        let (days, rest) = floorDivide(second - epoch, by: 86_400)
        let (year, month, day) = civilDate(daysFromEpoch: days)
        func padded(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
        let date = "\(weekdays[floorDivide(days, by: 7).remainder]), \(padded(day)) \(months[month - 1]) \(year)"
        return "\(date) \(padded(rest / 3600)):\(padded(rest / 60 % 60)):\(padded(rest % 60)) \(zone)"
    }

    /// Returns the seconds since 1970; nil for any other text, and for the two obsolete formats.
    package static func seconds(_ text: String) -> Int64? {
        let words = text.split(separator: " ", omittingEmptySubsequences: false)
        guard words.count == 6, words[5] == "GMT", let day = number(words[1], 2),
            let month = months.firstIndex(of: String(words[2])).map({ $0 + 1 }), let year = number(words[3], 4),
            year >= 1970, (1...daysInMonth(month, year: year)).contains(day)
        else { return nil }
        let parts = words[4].split(separator: ":", omittingEmptySubsequences: false).map { number($0, 2) }
        guard parts.count == 3, let hour = parts[0], let minute = parts[1], let second = parts[2],
            hour < 24, minute < 60, second <= 60
        else { return nil }
        let days = daysFromEpoch(year: year, month: month, day: day)
        return Int64(days * 86_400 + hour * 3600 + minute * 60 + second + epoch)
    }

    private static func number(_ text: Substring, _ length: Int) -> Int? {
        let isNumber = text.utf8.count == length && text.utf8.allSatisfy { (0x30...0x39).contains($0) }
        return isNumber ? Int(text) : nil
    }
}
