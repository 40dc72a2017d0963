internal import SkyrowModel

extension [RecordChange] {
    /// What the changes of a whole transaction come to: of each record how it was before the transaction and is after it.
    ///
    /// No one outside has ever seen what was in between, and who reads records one by one may not be allowed to: a record
    /// that is made for all and hidden before the commit was visible to none. A record that is deleted and made again has two
    /// changes, since the new one is another.
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

/// What a transaction has done to one record so far.
private struct Net {
    /// From the record before the transaction to its end, or to what it is now.
    private var first: RecordChange
    /// From nothing to the record that was made in the place of the deleted one.
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

    var changes: [RecordChange] {
        [first, second].compactMap(\.self).filter { !($0.isMade && $0.after == nil) }
    }
}

extension RecordChange {
    /// Whether there was no record before.
    fileprivate var isMade: Bool {
        if case .missing = before { true } else { false }
    }
}
