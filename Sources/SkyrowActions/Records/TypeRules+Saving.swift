import SkyrowModel
import SkyrowProtocol
import SkyrowStore

extension ActionService {
    /// Replaces every draft that cannot be saved because of its type's rules (``TypeRules``) with a refusal.
    ///
    /// Throws `115 AtomicOperationFailure` when the request is atomic and one is refused.
    func applyingTypeRules(
        to items: [SaveRequest.Item],
        with access: RecordAccess,
        isAtomic: Bool
    ) async throws(SkyrowError) -> [SaveRequest.Item] {
        let special = store.rules
        // Few types have such rules.
        guard items.types.contains(where: { special[$0] != nil }) else { return items }
        let permitted = try items.refusing(isAtomic: isAtomic) { draft in
            special[draft.id.type].flatMap {
                $0.refusal(saving: draft, in: access.database) ?? $0.loginKeyRefusal(draft)
            }
        }
        return try await refusingNewLoginKeys(permitted, with: access, isAtomic: isAtomic)
    }

    /// Replaces every draft that would set a login key that is no longer permitted with a refusal.
    ///
    /// A key that the record already has is not new: clients send back whole records, and older accounts remain valid. The
    /// database is queried only for drafts that may have a new one.
    private func refusingNewLoginKeys(
        _ items: [SaveRequest.Item],
        with access: RecordAccess,
        isAtomic: Bool
    ) async throws(SkyrowError) -> [SaveRequest.Item] {
        let policy = configuration.accounts
        var refused: [RecordID: [(name: FieldName, value: RecordValue)]] = [:]
        for draft in items.lazy.compactMap(\.draft) {
            guard let keys = store.rules[draft.id.type]?.loginKeys else { continue }
            let fields = draft.fields.filter {
                keys.contains($0.name) && policy.refusal(of: $0.value, as: $0.name) != nil
            }
            if !fields.isEmpty { refused[draft.id] = fields }
        }
        guard !refused.isEmpty else { return items }
        let ids = Array(refused.keys)
        let outcomes = try await store.fetch(ids, with: access)
        var refusals: [RecordID: SkyrowError] = [:]
        for (id, outcome) in zip(ids, outcomes) {
            var stored: [FieldName: RecordValue] = [:]
            if case .record(let source) = outcome { stored = source.collected()?.fields ?? [:] }
            for field in refused[id] ?? [] where !field.value.isSameText(as: stored[field.name]) {
                refusals[id] = policy.refusal(of: field.value, as: field.name)
            }
        }
        return try items.refusing(isAtomic: isAtomic) { refusals[$0.id] }
    }
}

extension TypeRules {
    /// `108 InvalidArgument` for a draft with an invalid value for a login key.
    fileprivate func loginKeyRefusal(_ draft: RecordDraft) -> SkyrowError? {
        guard !loginKeys.isEmpty else { return nil }
        for field in draft.fields where loginKeys.contains(field.name) {
            do throws(SkyrowError) {
                try LoginData.check(field.value, argument: field.name.rawValue)
            } catch {
                return error
            }
        }
        return nil
    }
}

extension RecordValue {
    /// Returns whether both are the same text, byte by byte, or both are null.
    func isSameText(as other: RecordValue?) -> Bool {
        switch (self, other ?? .null) {
        case (.string(let text), .string(let stored)): text.isSameText(as: stored)
        case (.null, .null): true
        default: false
        }
    }
}

extension [SaveRequest.Item] {
    /// Replaces every draft for which `refusal` returns an error.
    ///
    /// Throws `115 AtomicOperationFailure` when the request is atomic and one is refused.
    func refusing(isAtomic: Bool, _ refusal: (RecordDraft) -> SkyrowError?) throws(SkyrowError) -> [SaveRequest.Item] {
        var failures: [String: SkyrowError] = [:]
        let items = enumerated().map { place, item -> SaveRequest.Item in
            guard let draft = item.draft, let error = refusal(draft)?.inRecord(at: place) else { return item }
            failures[draft.id.description] = error
            return .failure(error, id: draft.id.description)
        }
        if isAtomic, !failures.isEmpty { throw .atomicFailure(failures) }
        return items
    }
}
