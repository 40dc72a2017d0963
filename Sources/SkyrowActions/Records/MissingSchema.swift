import SkyrowModel
import SkyrowStore

extension ActionService {
    /// Makes the types and fields that these items lack, but only for those whose record the caller may write.
    ///
    /// Answers the items with a refusal in the place of each of the others, since what they lack is not made. Throws
    /// `114 IncompatibleSchema` when a value does not go with its field or the schema is frozen, and
    /// `115 AtomicOperationFailure` when the request is atomic and an item is refused.
    func makeRoom(
        for items: [SaveRequest.Item],
        in scope: DatabaseScope,
        caller: Caller,
        isAtomic: Bool
    ) async throws(SkyrowError) -> [SaveRequest.Item] {
        guard try store.needsRoom(for: items) else { return items }
        try store.requireMayCreate(in: scope, caller: caller)
        let refusals = try await refusals(for: items.compactMap { $0.draft?.id }, in: scope, caller: caller)
        let permitted = try items.refusing(isAtomic: isAtomic) { refusals[$0.id] }
        let drafts = permitted.compactMap { $0.draft }
        if !drafts.isEmpty { try await store.makeRoom(for: drafts) }
        return permitted
    }

    /// Which records the caller may not save to, and why.
    private func refusals(
        for ids: [RecordID],
        in scope: DatabaseScope,
        caller: Caller
    ) async throws(SkyrowError) -> [RecordID: SkyrowError] {
        try await store.reporting {
            var refusals = try await store.refusals(savingTo: ids, in: scope, caller: caller)
            // A profile that is not there will not be created, so nothing is made for it either.
            let profiles = ids.filter { $0.type == .user && refusals[$0] == nil }
            guard !profiles.isEmpty else { return refusals }
            let outcomes = try await store.fetch(profiles, in: scope, caller: caller)
            for (id, outcome) in zip(profiles, outcomes) {
                switch outcome {
                case .record, .deleted: break
                case .failure: refusals[id] = UserRecordRules.creation
                }
            }
            return refusals
        }
    }
}

extension RecordStore {
    /// Whether saving these items takes a change of the schema; nothing waits.
    func needsRoom(for items: [SaveRequest.Item]) throws(SkyrowError) -> Bool {
        try !schemaPlan(saving: items.compactMap(\.draft)).isEmpty
    }
}

extension SaveRequest.Item {
    /// The draft, unless it could not be read or was refused.
    var draft: RecordDraft? {
        switch self {
        case .draft(let draft): draft
        case .failure: nil
        }
    }
}
