/// Shows the progress of a run; `skyrow` draws a line on the terminal.
package protocol ProgressDisplay {
    /// - Parameter done: The number of items done so far.
    mutating func report(_ done: Int)
    /// Removes the display.
    func finish()
}

/// Makes a display for a run of `total` items, nil if the number is unknown. `unit` names the items.
package typealias ProgressMaker = @Sendable (_ total: Int?, _ unit: String) -> any ProgressDisplay
