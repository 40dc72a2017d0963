/// Shows how far a run has come; `skyrow` draws a line on the terminal.
package protocol ProgressDisplay {
    /// - Parameter done: how many of the total.
    mutating func report(_ done: Int)
    /// Takes away what was shown.
    func finish()
}

/// Makes a display for a run of that many, nil where the number is unknown; `unit` names what is counted.
package typealias ProgressMaker = @Sendable (_ total: Int?, _ unit: String) -> any ProgressDisplay
