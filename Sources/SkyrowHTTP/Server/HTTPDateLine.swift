import SkyrowJSON

#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// The line `date: Sun, 06 Nov 1994 08:49:37 GMT`, formatted once a second.
struct HTTPDateLine {
    private var second: Int = .min
    private(set) var line: [UInt8] = []

    /// Updates the line; reads the clock, which costs some 20 ns.
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
        line = Array("date: \(HTTPDate.text(second: second))\r\n".utf8)
    }
}
