internal import SkyrowModel

/// The states of a request's writes, by their position in its plan.
struct SaveProgress {
    /// The state of a write.
    enum Standing: Hashable {
        /// Not executed yet, or in the statement that is being built.
        case open
        case written
        case failed
    }

    /// The rows of completed writes, up to the last one; nil for the others.
    private var rows: [StoredRow?] = []
    var failures: [Int: SkyrowError] = [:]
    /// The positions that the database did not write, for reasons not yet determined.
    var refused: Set<Int> = []

    /// Whether nothing was written.
    var isEmpty: Bool { rows.isEmpty }

    /// Returns the written row; nil if it was not written.
    func row(of position: Int) -> StoredRow? {
        position < rows.count ? rows[position] : nil
    }

    mutating func note(_ row: StoredRow, of position: Int) {
        while rows.count <= position { rows.append(nil) }
        rows[position] = row
    }

    func standing(of position: Int) -> Standing {
        if row(of: position) != nil { return .written }
        return refused.contains(position) || failures[position] != nil ? .failed : .open
    }
}
