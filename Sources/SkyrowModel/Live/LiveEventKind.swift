/// The kind of a change that a live query reports.
public enum LiveEventKind: String, Hashable, Sendable, CaseIterable {
    /// A new record matches.
    case created
    /// A record matches that did not match before, or that the caller could not read before.
    case entered
    /// A matching record has changed and still matches.
    case updated
    /// A record that the caller may read no longer matches.
    case left
    /// A record that matched was deleted or became invisible; the event does not say which.
    case deleted

    /// All events, as one set that is shared by all subscriptions that omit none.
    package static let all = Set(allCases)
}

/// How a row relates to a caller and a predicate.
package enum LiveSight: Hashable, Sendable {
    /// The row does not exist, or the caller may not read it.
    case hidden
    /// The caller may read the row, but it does not match.
    case readable
    /// The caller may read the row, and it matches.
    case matching
}

extension LiveEventKind {
    /// Returns the event of a change, from how the rows before and after relate to the caller; nil for no event.
    ///
    /// ```swift
    /// LiveEventKind.of(before: .readable, after: .matching, isInsert: false)  // .entered
    /// ```
    ///
    /// - Parameter isInsert: whether the change created the record, so that no row existed before.
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
