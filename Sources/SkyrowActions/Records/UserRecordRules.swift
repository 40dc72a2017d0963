import SkyrowModel
import SkyrowStore

/// What may be done to records of the type `user`, which are the profiles of accounts.
///
/// They live in the public database only and come into being with their account, through `auth:signup`. Whoever may
/// write one may change it, but for its login keys, which are its owner's affair (``FieldRules``). The store does its
/// part: it only updates profiles and never deletes one.
enum UserRecordRules {
    /// Why no caller may save a draft; nil when that depends on the stored record.
    static func refusal(of draft: RecordDraft, in scope: DatabaseScope, loginKeys: [FieldName]) -> SkyrowError? {
        guard draft.id.type == .user else { return nil }
        guard scope == .everyone else { return notHere }
        guard draft.precondition != .isNew, !draft.id.isTemporary else { return creation }
        for field in draft.fields where loginKeys.contains(field.name) {
            do throws(SkyrowError) {
                try LoginData.check(field.value, argument: field.name.rawValue)
            } catch {
                return error
            }
        }
        return nil
    }

    static let notHere = SkyrowError(.permissionDenied, "Records of the type user live in the public database only.")
    static let creation = SkyrowError(
        .permissionDenied,
        "Records of the type user come into being through auth:signup."
    )
}

extension ActionService {
    /// Puts a refusal in the place of every profile that would get a login key of mixed scripts.
    ///
    /// A key that the profile has already is none: clients send back whole records, and older accounts go on. Only
    /// where there may be one is the database asked.
    func refusingMixedScripts(
        _ items: [SaveRequest.Item],
        with access: RecordAccess,
        isAtomic: Bool
    ) async throws(SkyrowError) -> [SaveRequest.Item] {
        let policy = configuration.accounts
        let keys = store.loginKeys
        var mixed: [RecordID: [(name: FieldName, value: RecordValue)]] = [:]
        for draft in items.lazy.compactMap(\.draft) where draft.id.type == .user {
            let fields = draft.fields.filter { keys.contains($0.name) && !policy.admits($0.value) }
            if !fields.isEmpty { mixed[draft.id] = fields }
        }
        guard !mixed.isEmpty else { return items }
        let ids = Array(mixed.keys)
        let outcomes = try await store.reporting { try await store.fetch(ids, with: access) }
        var refusals: [RecordID: SkyrowError] = [:]
        for (id, outcome) in zip(ids, outcomes) {
            var stored: [FieldName: RecordValue] = [:]
            if case .record(let source) = outcome { stored = source.collected()?.fields ?? [:] }
            for field in mixed[id] ?? [] where !field.value.isSameText(as: stored[field.name]) {
                refusals[id] = AccountPolicy.mixedScripts(field.name)
            }
        }
        return try items.refusing(isAtomic: isAtomic) { refusals[$0.id] }
    }
}

extension RecordValue {
    fileprivate func isSameText(as other: RecordValue?) -> Bool {
        if case .string(let text) = self, case .string(let stored)? = other {
            text.isSameText(as: stored)
        } else {
            false
        }
    }
}

extension SaveRequest {
    /// The items, with a refusal in the place of every profile that may not be saved.
    ///
    /// Throws `115 AtomicOperationFailure` when the request is atomic and one is refused.
    func itemsAllowingForProfiles(in scope: DatabaseScope, loginKeys: [FieldName]) throws(SkyrowError) -> [Item] {
        try items.refusing(isAtomic: isAtomic) { UserRecordRules.refusal(of: $0, in: scope, loginKeys: loginKeys) }
    }
}

extension [SaveRequest.Item] {
    /// Puts a refusal in the place of every draft for which there is one.
    ///
    /// Throws `115 AtomicOperationFailure` when the request is atomic and one is refused.
    func refusing(
        isAtomic: Bool,
        _ refusal: (RecordDraft) -> SkyrowError?
    ) throws(SkyrowError) -> [SaveRequest.Item] {
        var failures: [String: SkyrowError] = [:]
        let items = map { item -> SaveRequest.Item in
            guard let draft = item.draft, let error = refusal(draft) else { return item }
            failures[draft.id.description] = error
            return .failure(error, id: draft.id.description)
        }
        if isAtomic, !failures.isEmpty { throw .atomicFailure(failures) }
        return items
    }
}
