import SkyrowModel
import SkyrowQuery
import SkyrowStore

extension LiveRegistry {
    /// The group of a subscription.
    func group(of number: Subscriber) -> (number: SubscriptionIndex.Group, group: SubscriptionGroup)? {
        guard let subscriber = subscribers[number]?.value, let group = groups[subscriber.group]?.value else {
            return nil
        }
        return (subscriber.group, group)
    }

    /// Has the members of a group be read, where they have to be; nil where they are known or another one reads them.
    mutating func beginMembers(of number: SubscriptionIndex.Group) -> MembersLoading.Reading? {
        guard let group = groups[number]?.value, group.lacksMembers else { return nil }
        groups[number]?.members = .loading
        return membersLoading.begin(number, of: group.type)
    }

    /// Whether the members of a group are known, so that its subscriptions may become live.
    func hasMembers(_ number: SubscriptionIndex.Group) -> Bool {
        if case .known? = groups[number]?.members { true } else { false }
    }

    /// Gives up a reading of members, if it still counts.
    mutating func endMembers(of number: SubscriptionIndex.Group, _ reading: MembersLoading.Reading) {
        if membersLoading.finish(number, reading) != nil { forgetMembers(of: number) }
    }

    /// Forgets the members of a group, also those that are being read.
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

    /// Forgets the members of the groups whose changes come with the records before from now on, with the stream.
    mutating func forgetMembersBesideStream() {
        for number in groups.numbers where groups[number]?.hasKeysAlone == false { forgetMembers(of: number) }
    }

    /// What has changed since the members of a group began to be read, which a moment has not shown.
    func changes(
        duringReading reading: MembersLoading.Reading,
        of number: SubscriptionIndex.Group,
        readAt start: LiveStart
    ) -> [CommittedTransaction] {
        membersLoading.changes(since: reading, of: number).filter { !start.covers($0.mark) }
    }

    /// Takes the members of a group as they were read, and what has changed since; nil for a reading that was given up.
    ///
    /// Its subscriptions begin later, so that no event of these changes is sent.
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

    /// Counts a record that is sent with the beginning of a subscription among the members of its group, where changes come without the
    /// records before.
    ///
    /// It may have begun to match after the last question for changes. Did it end before the next one, nothing else would say that the
    /// client has it.
    ///
    /// - Returns: false where the record changes so often that it is not to be sent.
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
            by: isWhole && view.list == .all ? nil : audience
        )
    }
}
