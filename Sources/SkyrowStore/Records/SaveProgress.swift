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

    var saved: [Int: StoredRow] = [:]
    var failures: [Int: SkyrowError] = [:]
    /// What the database did not write; why is yet to be asked.
    var refused: Set<Int> = []

    func standing(of position: Int) -> Standing {
        if saved[position] != nil { return .written }
        return refused.contains(position) || failures[position] != nil ? .failed : .open
    }
}
