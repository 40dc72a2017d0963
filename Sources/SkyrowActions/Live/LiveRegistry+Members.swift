import SkyrowModel
import SkyrowQuery
import SkyrowStore

extension LiveRegistry {
    func group(of number: Subscriber) -> (number: SubscriptionIndex.Group, group: SubscriptionGroup)? {
        guard let subscriber = subscribers[number]?.value, let group = groups[subscriber.group]?.value else {
            return nil
        }
        return (subscriber.group, group)
    }

    /// Starts to read the members of a group that lacks them; returns nil if they are known or being read.
    mutating func beginMembers(of number: SubscriptionIndex.Group) -> MembersLoading.Reading? {
        guard let group = groups[number]?.value, group.lacksMembers else { return nil }
        groups[number]?.members = .loading
        return membersLoading.begin(number, of: group.type)
    }

    /// Returns whether the members of a group are known, so that its subscriptions may become live.
    func hasMembers(_ number: SubscriptionIndex.Group) -> Bool {
        if case .known? = groups[number]?.members { true } else { false }
    }

    /// Discards a read of members, if it is still current.
    mutating func endMembers(of number: SubscriptionIndex.Group, _ reading: MembersLoading.Reading) {
        if membersLoading.finish(number, reading) != nil { forgetMembers(of: number) }
    }

    /// Forgets the members of a group, and cancels a read of them.
    mutating func forgetMembers(of number: SubscriptionIndex.Group) {
        groups[number]?.members = .unknown
        membersLoading.cancel(number)
        membership.removeAll(of: number)
        _ = countMembers(of: number)
    }

    /// Forgets the members of all groups.
    mutating func forgetAllMembers() {
        whileLoading.removeAll()
        for number in groups.numbers { forgetMembers(of: number) }
    }

    /// Forgets the members of the groups that need none once the stream delivers the records before changes.
    mutating func forgetMembersBesideStream() {
        for number in groups.numbers where groups[number]?.hasKeysAlone == false { forgetMembers(of: number) }
    }

    /// Returns the transactions since a read of members began that are not visible to the snapshot of the read.
    func changes(
        duringReading reading: MembersLoading.Reading,
        of number: SubscriptionIndex.Group,
        readAt start: LiveStart
    ) -> [CommittedTransaction] {
        membersLoading.changes(since: reading, of: number).filter { !start.covers($0.mark) }
    }

    /// Sets the members of a group as read, and applies the changes since; returns nil for a read that was discarded.
    ///
    /// The group's subscriptions become live later, so these changes send no events.
    ///
    /// - Parameter verdicts: those of the transactions of ``changes(duringReading:of:readAt:)``.
    mutating func setMembers(
        of number: SubscriptionIndex.Group,
        _ reading: MembersLoading.Reading,
        _ records: [StoredRecord],
        readAt start: LiveStart,
        _ verdicts: [LiveVerdicts]
    ) -> Dispatch? {
        let waiting = changes(duringReading: reading, of: number, readAt: start)
        guard let group = groups[number]?.value, waiting.count == verdicts.count,
            membersLoading.finish(number, reading) != nil
        else { return nil }
        groups[number]?.members = .known
        for record in records { membership.read(record, in: tables.table(of: group.type), for: number) }
        _ = countMembers(of: number)
        var result = Dispatch()
        for (transaction, verdicts) in zip(waiting, verdicts) {
            let part = dispatch(transaction, verdicts, only: number)
            result.messages += part.messages
            result.resets += part.resets
        }
        return result
    }

    /// Counts a record that is sent during a load among the members of the group, when changes lack the record before.
    ///
    /// The record may have begun to match after the last poll. If it stops matching before the next one, nothing else shows that
    /// the client holds it.
    ///
    /// - Returns: false if the record changes so often that it must not be sent.
    mutating func keepSent(_ record: StoredRecord, to subscriber: Subscriber) -> Bool {
        guard let (number, group) = group(of: subscriber), case .known = group.members,
            let audience = subscribers[subscriber]?.audience, let place = group.audiences.place(of: audience)
        else { return true }
        let view = group.audiences[place].encoding.key.view
        let table = tables.table(of: group.type)
        func mayHave(_ field: FieldName) -> Bool {
            group.asked?.contains(field) ?? true && !view.hidden.contains(field)
        }
        let isWhole = (table?.memberFields ?? []).allSatisfy { mayHave($0) && view.partial[$0] == nil }
        return membership.read(
            record,
            in: table,
            knowing: Set((table?.columns ?? []).lazy.map(\.field).filter(mayHave)),
            for: number,
            by: isWhole && view.list.isAlways ? nil : audience
        )
    }
}
