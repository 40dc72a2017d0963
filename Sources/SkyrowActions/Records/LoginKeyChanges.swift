import SkyrowModel
import SkyrowProtocol
import SkyrowStore

extension ActionService {
    /// Replaces every draft that would change a login key of a profile with `138 StepUpRequired`, unless the user has
    /// authenticated again within the last minutes: control of the address is control of the account.
    ///
    /// A key that the profile already has is removed from its draft: clients send back whole profiles, and writing it could undo
    /// a concurrent change of the key. The database is queried only for drafts with a key.
    ///
    /// If addresses are verified, a draft that would change the existing address of a profile is replaced with `123
    /// DeniedArgument`, even after step-up: `auth:email:change` does that.
    ///
    /// Throws `115 AtomicOperationFailure` when the request is atomic and a draft is refused.
    func keepingLoginKeys(
        of items: [SaveRequest.Item],
        with access: RecordAccess,
        by caller: Caller,
        _ credentials: Credentials,
        isAtomic: Bool
    ) async throws(SkyrowError) -> [SaveRequest.Item] {
        guard !caller.isMaster, !caller.isElevated || provesAddresses else { return items }
        let rules = store.rules
        guard items.types.contains(where: { rules[$0]?.loginKeys.isEmpty == false }) else { return items }
        let named = items.compactMap { item in
            item.draft.flatMap { draft in rules[draft.id.type]?.namesLoginKey(draft) == true ? draft.id : nil }
        }
        guard !named.isEmpty else { return items }
        let ids = Array(Set(named))
        var profiles: [RecordID: Record] = [:]
        for (id, outcome) in zip(ids, try await store.fetch(ids, with: access)) {
            // Only the owner changes login keys; the field rules refuse others.
            guard case .record(let source) = outcome, let profile = source.collected(),
                profile.owner == caller.userID
            else { continue }
            profiles[id] = profile
        }
        let kept = items.map { item -> SaveRequest.Item in
            guard case .draft(var draft) = item, let profile = profiles[draft.id],
                let keys = rules[draft.id.type]?.loginKeys
            else { return item }
            draft.fields.removeAll { keys.contains($0.name) && $0.value.isSameText(as: profile.fields[$0.name]) }
            return .draft(draft)
        }
        func changesKey(_ draft: RecordDraft) -> Bool {
            profiles[draft.id] != nil && rules[draft.id.type]?.namesLoginKey(draft) == true
        }
        guard kept.contains(where: { $0.draft.map(changesKey) ?? false }) else { return kept }
        func changesAddress(_ draft: RecordDraft) -> Bool {
            guard provesAddresses, draft.fields.contains(where: { $0.name.rawValue.isSameText(as: "email") }),
                case .string? = profiles[draft.id]?.fields.first(where: { $0.key.rawValue.isSameText(as: "email") })?
                    .value
            else { return false }
            return true
        }
        let proving = try kept.refusing(isAtomic: isAtomic) { changesAddress($0) ? .addressIsProved : nil }
        guard proving.contains(where: { $0.draft.map(changesKey) ?? false }), !caller.isElevated else { return proving }
        guard let refusal = try await stepUpRefusal(of: caller, with: credentials) else { return proving }
        return try proving.refusing(isAtomic: isAtomic) { changesKey($0) ? refusal : nil }
    }
}

extension TypeRules {
    fileprivate func namesLoginKey(_ draft: RecordDraft) -> Bool {
        draft.fields.contains { loginKeys.contains($0.name) }
    }
}

extension SkyrowError {
    fileprivate static let addressIsProved = SkyrowError(
        .deniedArgument,
        "Use auth:email:change to change an address; it verifies the new one.",
        info: ["arguments": .list([.string("email")]), "action": .string(Actions.authEmailChange.name.rawValue)]
    )
}
