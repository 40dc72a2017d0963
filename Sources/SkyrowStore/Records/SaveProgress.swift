internal import SkyrowModel

/// What has become of the writes of a request so far, by their position in its plan.
struct SaveProgress {
    /// How a write stands.
    enum Standing: Hashable {
        /// Not run yet, or in the statement that is being made.
        case open
        case written
        case failed
    }

    /// The rows of the writes that were done; nil for the others, and none beyond the last that was done.
    private var rows: [StoredRow?] = []
    var failures: [Int: SkyrowError] = [:]
    /// What the database did not write; why is yet to be asked.
    var refused: Set<Int> = []

    /// Whether nothing was written.
    var isEmpty: Bool { rows.isEmpty }

    /// What was written; nil when it was not.
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
