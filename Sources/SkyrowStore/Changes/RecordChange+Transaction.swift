internal import SkyrowModel

extension [RecordChange] {
    /// The net changes of a whole transaction: each record as it was before and as it is after.
    ///
    /// The states in between were never visible outside, and per-record readers may not be allowed to see them: a record that
    /// was created public and hidden before the commit was visible to no other session. A record that was deleted and created
    /// again has two changes, since it is a new record.
    var ofWholeTransaction: [RecordChange] {
        guard count > 1 else { return self }
        var places: [Key: Int] = [:]
        places.reserveCapacity(count)
        var parts: [Net] = []
        parts.reserveCapacity(count)
        for change in self {
            let key = Key(table: ObjectIdentifier(change.table), storedID: TextKey(change.storedID))
            if let place = places[key] {
                parts[place].append(change)
            } else {
                places[key] = parts.count
                parts.append(Net(change))
            }
        }
        return parts.count == count ? self : parts.flatMap(\.changes)
    }
}

private struct Key: Hashable {
    let table: ObjectIdentifier
    let storedID: TextKey
}

/// The net changes of one record in a transaction so far.
private struct Net {
    /// The change from the record before the transaction to its deletion, or to its current state.
    private var first: RecordChange
    /// The creation of the record that replaced the deleted one.
    private var second: RecordChange?

    init(_ change: RecordChange) {
        first = change
    }

    mutating func append(_ change: RecordChange) {
        if let second {
            self.second = RecordChange(second, then: change)
        } else if first.after == nil, case .missing = change.before, !first.isMade {
            second = change
        } else {
            first = RecordChange(first, then: change)
        }
    }

    var changes: [RecordChange] { [first, second].compactMap(\.self).filter { !($0.isMade && $0.after == nil) } }
}

extension RecordChange {
    /// Whether the record did not exist before.
    fileprivate var isMade: Bool {
        if case .missing = before { true } else { false }
    }
}
