import SkyrowModel
import SkyrowStore

/// What may be done to records of the type `user`, which are the profiles of accounts.
///
/// They live in the public database only, come into being through `auth:signup` (or by the master key), may be changed
/// by whoever may write them, and are never deleted, since the account would lose its profile.
enum UserRecordRules {
    enum Verdict: Equatable {
        case allowed
        case refused(SkyrowError)
        /// Allowed if the record exists, since saving it may then create nothing.
        case allowedIfPresent
    }

    static func save(_ draft: RecordDraft, in scope: DatabaseScope, caller: Caller) -> Verdict {
        guard draft.id.type == .user else { return .allowed }
        guard scope == .everyone else { return .refused(notHere) }
        if caller.isMaster { return .allowed }
        // One's own profile exists, or is created anew if somebody deleted it in psql.
        if let user = caller.userID, user.isSameText(as: draft.id.id) { return .allowed }
        return draft.precondition == .isNew || draft.id.isTemporary ? .refused(creation) : .allowedIfPresent
    }

    static func delete(_ id: RecordID) -> Verdict {
        id.type == .user ? .refused(deletion) : .allowed
    }

    static let notHere = SkyrowError(.permissionDenied, "Records of the type user live in the public database only.")
    static let creation = SkyrowError(.permissionDenied, "Records of the type user come into being through auth:signup.")
    static let deletion = SkyrowError(.permissionDenied, "Records of the type user cannot be deleted.")
}

extension ActionService {
    /// Puts a refusal in the place of every `user` record that may not be saved.
    ///
    /// Throws `115 AtomicOperationFailure` when the request is atomic and one is refused.
    func judgeUserRecords(
        _ items: [SaveRequest.Item],
        in scope: DatabaseScope,
        caller: Caller,
        isAtomic: Bool
    ) async throws(SkyrowError) -> [SaveRequest.Item] {
        var items = items
        var refusals: [String: SkyrowError] = [:]
        var doubtful: [(place: Int, id: RecordID)] = []
        func refuse(_ place: Int, _ id: RecordID, _ error: SkyrowError) {
            items[place] = .failure(error, id: id.description)
            refusals[id.description] = error
        }
        for (place, item) in items.enumerated() {
            guard case .draft(let draft) = item else { continue }
            switch UserRecordRules.save(draft, in: scope, caller: caller) {
            case .allowed: break
            case .refused(let error): refuse(place, draft.id, error)
            case .allowedIfPresent: doubtful.append((place, draft.id))
            }
        }
        if !doubtful.isEmpty {
            // Profiles are never deleted through the service, so what is there now is there when it is saved.
            let ids = doubtful.map(\.id)
            let outcomes = try await store.reporting { try await store.fetch(ids, in: scope, caller: caller) }
            for ((place, id), outcome) in zip(doubtful, outcomes) {
                switch outcome {
                case .record, .deleted: break
                case .failure: refuse(place, id, UserRecordRules.creation)
                }
            }
        }
        if isAtomic, !refusals.isEmpty { throw .atomicFailure(refusals) }
        return items
    }
}
