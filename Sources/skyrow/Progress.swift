import Glibc
import SkyrowMaintenance

/// A command's progress as one line on a terminal; without a terminal it writes nothing.
struct Progress: ProgressDisplay {
    /// The total; nil if unknown.
    private let total: Int?
    /// The noun for the items, such as `records`.
    private let unit: String
    private let isShown: Bool
    private let start = ContinuousClock.now
    private var next = ContinuousClock.now

    /// Makes the progress display of a run.
    static let maker: ProgressMaker = { Progress(total: $0, unit: $1) }

    init(total: Int?, unit: String = "records") {
        self.total = total
        self.unit = unit
        isShown = isatty(STDERR_FILENO) == 1
    }

    /// Shows the number of items done, at most ten times a second.
    mutating func report(_ done: Int) {
        let now = ContinuousClock.now
        guard isShown, now >= next else { return }
        next = now + .milliseconds(100)
        write("\r\(Progress.line(done: done, total: total, unit: unit, elapsed: now - start))\u{1b}[K")
    }

    /// Clears the line.
    func finish() {
        if isShown { write("\r\u{1b}[K") }
    }

    /// `12,345 of 58,788 records  45,000 a second  1 s left`
    static func line(done: Int, total: Int?, unit: String = "records", elapsed: Duration) -> String {
        let seconds = max(elapsed.inSeconds, 1e-3)
        let rate = Double(done) / seconds
        // The total may be an estimate that is too low.
        let total = total.map { max($0, done) }
        var line =
            decimal(done) + (total.map { " of \(decimal($0))" } ?? "") + " \(unit)  \(decimal(Int(rate))) a second"
        if let total, rate > 0 { line += "  \(decimal(Int((Double(total - done) / rate).rounded(.up)))) s left" }
        return line
    }

    private func write(_ text: String) {
        let bytes = Array(text.utf8)
        _ = Glibc.write(STDERR_FILENO, bytes, bytes.count)
    }
}
