import Glibc

/// One line on a terminal that tells how far an import is; it writes nothing where there is no terminal.
struct ImportProgress {
    private let total: Int
    private let isShown: Bool
    private let start = ContinuousClock.now
    private var next = ContinuousClock.now

    init(total: Int) {
        self.total = total
        isShown = isatty(STDERR_FILENO) == 1
    }

    /// Tells how many records are done, at most ten times a second.
    mutating func report(_ done: Int) {
        let now = ContinuousClock.now
        guard isShown, now >= next else { return }
        next = now + .milliseconds(100)
        write("\r\(ImportProgress.line(done: done, total: total, elapsed: now - start))\u{1b}[K")
    }

    /// Takes the line away.
    func finish() {
        if isShown { write("\r\u{1b}[K") }
    }

    /// `12,345 of 58,788 records  45,000 a second  1 s left`
    static func line(done: Int, total: Int, elapsed: Duration) -> String {
        let seconds = max(Double(elapsed.components.seconds) + Double(elapsed.components.attoseconds) / 1e18, 1e-3)
        let rate = Double(done) / seconds
        var line = "\(decimal(done)) of \(decimal(total)) records  \(decimal(Int(rate))) a second"
        if rate > 0 { line += "  \(decimal(Int((Double(max(total - done, 0)) / rate).rounded(.up)))) s left" }
        return line
    }

    private func write(_ text: String) {
        let bytes = Array(text.utf8)
        _ = Glibc.write(STDERR_FILENO, bytes, bytes.count)
    }
}
