#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// The line `date: Sun, 06 Nov 1994 08:49:37 GMT` (RFC 9110, 5.6.7), made once a second.
struct HTTPDate {
    private var second: Int = .min
    private(set) var line: [UInt8] = []

    /// Brings the line up to date; asks the clock, which costs some 20 ns.
    mutating func refresh() {
        var now = timespec()
        #if canImport(Darwin)
            clock_gettime(CLOCK_REALTIME, &now)
        #else
            clock_gettime(CLOCK_REALTIME_COARSE, &now)
        #endif
        refresh(second: now.tv_sec)
    }

    mutating func refresh(second: Int) {
        guard second != self.second else { return }
        self.second = second
        line = HTTPDate.line(second: second)
    }

    /// - Parameter second: since 1970-01-01T00:00:00Z
    static func line(second: Int) -> [UInt8] {
        var time = second
        var parts = tm()
        gmtime_r(&time, &parts)
        let weekdays = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
        let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
        func padded(_ number: Int32) -> String { number < 10 ? "0\(number)" : "\(number)" }
        let day = "\(weekdays[Int(parts.tm_wday)]), \(padded(parts.tm_mday)) \(months[Int(parts.tm_mon)])"
        let clock = "\(padded(parts.tm_hour)):\(padded(parts.tm_min)):\(padded(parts.tm_sec))"
        return Array("date: \(day) \(parts.tm_year + 1900) \(clock) GMT\r\n".utf8)
    }
}
