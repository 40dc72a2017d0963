import SkyrowModel

/// How many uploads each user or client has in progress, or how many thumbnails it waits for.
///
/// ```swift
/// if !places.enter(.user(ann)) { throw .tooManyUploads }
/// defer { places.leave(.user(ann)) }
/// ```
struct FilePlaces: Sendable {
    enum Holder: Hashable, Sendable {
        case user(UserID)
        /// A client without a user.
        case client(ClientKey)
    }

    /// Upper bound on the uploads of a holder at once.
    static let uploads = 8

    /// Upper bound on the places of a holder.
    let limit: Int
    private var counts: [Holder: Int] = [:]

    init(limit: Int) {
        self.limit = limit
    }

    var isUnused: Bool { counts.isEmpty }

    /// Takes a place; false if the holder has no more.
    mutating func enter(_ holder: Holder) -> Bool {
        let count = counts[holder, default: 0]
        guard count < limit else { return false }
        counts[holder] = count + 1
        return true
    }

    mutating func leave(_ holder: Holder) {
        let count = counts[holder, default: 0] - 1
        counts[holder] = count > 0 ? count : nil
    }
}
