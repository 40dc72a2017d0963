import SkyrowModel

/// How many uploads each user or client has in progress.
///
/// ```swift
/// if !places.enter(.user(ann)) { throw .tooManyUploads }
/// defer { places.leave(.user(ann)) }
/// ```
struct UploadPlaces: Sendable {
    enum Holder: Hashable, Sendable {
        case user(UserID)
        /// A client without a user.
        case client(ClientKey)
    }

    /// Upper bound on the uploads of a holder at once.
    static let limit = 8

    private var counts: [Holder: Int] = [:]

    var isUnused: Bool { counts.isEmpty }

    /// Takes a place; false if the holder has no more.
    mutating func enter(_ holder: Holder) -> Bool {
        let count = counts[holder, default: 0]
        guard count < Self.limit else { return false }
        counts[holder] = count + 1
        return true
    }

    mutating func leave(_ holder: Holder) {
        let count = counts[holder, default: 0] - 1
        counts[holder] = count > 0 ? count : nil
    }
}
