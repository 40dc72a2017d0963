/// Times as HTTP writes them (RFC 9110, 5.6.7): `Sun, 06 Nov 1994 08:49:37 GMT`.
enum HTTPDate {
    private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

    /// The seconds since 1970; nil for a text that is no such time, and for the two forms that are obsolete.
    static func seconds(_ text: String) -> Int64? {
        let words = text.split(separator: " ", omittingEmptySubsequences: false)
        guard words.count == 6, words[5] == "GMT", let day = number(words[1], 2), (1...31).contains(day),
            let month = months.firstIndex(of: String(words[2])), let year = number(words[3], 4), year >= 1970
        else { return nil }
        let parts = words[4].split(separator: ":", omittingEmptySubsequences: false).map { number($0, 2) }
        guard parts.count == 3, let hour = parts[0], let minute = parts[1], let second = parts[2],
            hour < 24, minute < 60, second <= 60
        else { return nil }
        // Years that begin in March, so that a leap day is the last one (civil calendar of Howard Hinnant).
        let shifted = year - (month < 2 ? 1 : 0)
        let (era, ofEra) = (shifted / 400, shifted % 400)
        let ofYear = (153 * ((month + 10) % 12) + 2) / 5 + day - 1
        let days = era * 146_097 + ofEra * 365 + ofEra / 4 - ofEra / 100 + ofYear - 719_468
        return Int64(days) * 86_400 + Int64(hour * 3600 + minute * 60 + second)
    }

    private static func number(_ text: Substring, _ length: Int) -> Int? {
        let isNumber = text.utf8.count == length && text.utf8.allSatisfy { (0x30...0x39).contains($0) }
        return isNumber ? Int(text) : nil
    }
}
