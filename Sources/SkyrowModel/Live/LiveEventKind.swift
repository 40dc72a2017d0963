/// What a live query reports of a change.
public enum LiveEventKind: String, Hashable, Sendable, CaseIterable {
    /// A new record matches.
    case created
    /// A record matches that did not before, or that the caller could not read before.
    case entered
    /// A record matches as it did before, and has changed.
    case updated
    /// A record that the caller may read matches no longer.
    case left
    /// A record that matched is gone or out of sight; which of the two is not said.
    case deleted

    /// Each of them: one set for all subscriptions that leave none out.
    package static let all = Set(allCases)
}

/// What a row is for a caller and a predicate.
package enum LiveSight: Hashable, Sendable {
    /// It is not there, or the caller may not read it.
    case hidden
    /// The caller may read it, and it does not match.
    case readable
    /// The caller may read it, and it matches.
    case matching
}

extension LiveEventKind {
    /// The event of a change, by what the row before and the row after are for the caller; nil for none.
    ///
    /// ```swift
    /// LiveEventKind.of(before: .readable, after: .matching, isInsert: false)  // .entered
    /// ```
    ///
    /// - Parameter isInsert: whether the change made the record, so that there is no row before.
    package static func of(before: LiveSight, after: LiveSight, isInsert: Bool) -> LiveEventKind? {
        switch (before, after) {
        case (.hidden, .matching): isInsert ? .created : .entered
        case (.readable, .matching): .entered
        case (.matching, .matching): .updated
        case (.matching, .readable): .left
        case (.matching, .hidden): .deleted
        case (.hidden, .hidden), (.hidden, .readable), (.readable, .hidden), (.readable, .readable): nil
        }
    }
}
