import SkyrowModel
import SkyrowProtocol
import SkyrowStore

extension ActionTable {
    static let relations: [any AnyEntry] = [
        Entry(Actions.relationAdd, ActionService.addRelations),
        Entry(Actions.relationRemove, ActionService.removeRelations),
        Entry(Actions.relationQuery, ActionService.relations),
        Entry(Actions.relationRequests, ActionService.relationRequests),
        Entry(Actions.relationBlock, ActionService.blockRelations),
    ]
}

extension ActionService {
    /// One outcome for each target, in the order of the request.
    ///
    /// A user whose profile the caller may not read counts as missing, unless a setting permits it, and so does a user who blocks
    /// the caller.
    fileprivate func addRelations(_ change: RelationChange, _ call: Call) async throws(SkyrowError) -> [RelationOutcome]
    {
        let user = try call.caller.requiredUser()
        let profiles = try await profiles(of: change.targets, by: call.caller)
        let targets = change.targets.filter { target in
            target != user && target.fitsAccount
                && (profiles[target] != nil || configuration.relationAudience == .everyone)
        }
        let additions = try await store.relations.add(change.relation, from: user, to: targets)
        return change.targets.map { target in
            if target == user { return .failure(target, .relationToOneself) }
            switch additions[target] {
            case .added(let isMutual): return .related(target, profile: profiles[target], isMutual: isMutual)
            case .blocked: return .failure(target, .userIsBlocked)
            case .missing, nil: return .failure(target, .userNotFound)
            }
        }
    }

    /// One outcome for each target; a missing relation is no error.
    fileprivate func removeRelations(_ change: RelationChange, _ call: Call) async throws(SkyrowError)
        -> [RelationOutcome]
    {
        let user = try call.caller.requiredUser()
        try await store.relations.remove(change.relation, from: user, to: change.targets)
        return change.targets.map { .done($0) }
    }

    /// Blocks users, or ends that; one outcome for each target.
    fileprivate func blockRelations(_ block: RelationBlock, _ call: Call) async throws(SkyrowError) -> [RelationOutcome]
    {
        let user = try call.caller.requiredUser()
        guard block.isBlocked else {
            try await store.relations.remove(.block, from: user, to: block.targets)
            return block.targets.map { .done($0) }
        }
        let profiles = try await profiles(of: block.targets, by: call.caller)
        let targets = block.targets.filter { $0 != user && profiles[$0] != nil }
        let blocked = try await store.relations.block(targets, by: user)
        return block.targets.map { target in
            if target == user { return .failure(target, .relationToOneself) }
            return blocked.contains(target) ? .done(target) : .failure(target, .userNotFound)
        }
    }

    fileprivate func relations(_ query: RelationQuery, _ call: Call) async throws(SkyrowError) -> RelationPage {
        try await page(query, call)
    }

    fileprivate func relationRequests(_ part: RelationPart, _ call: Call) async throws(SkyrowError) -> RelationPage {
        try await page(RelationQuery(.friend, .inward, part), isPending: true, call)
    }

    private func page(
        _ query: RelationQuery,
        isPending: Bool = false,
        _ call: Call
    ) async throws(SkyrowError) -> RelationPage {
        let user = try call.caller.requiredUser()
        guard query.part.start <= RecordQuery.maximumOffset else {
            throw .invalidArgument("At most \(RecordQuery.maximumOffset) users can be skipped.", "page")
        }
        // The query counts edges joined with profiles, up to 101,000.
        try await call.turn?.move(to: .join)
        let access = try recordAccess(to: .everyone, for: .reading, by: call.caller)
        let found = try await store.relations.users(of: user, query, isPending: isPending, readableBy: access)
        let profiles = try await profiles(of: found.users.map(\.id), by: call.caller)
        // A user hidden between the two statements is left out.
        let users = found.users.compactMap { other in
            profiles[other.id].map { RelationOutcome.related(other.id, profile: $0, isMutual: other.isMutual) }
        }
        return RelationPage(users: users, count: found.count)
    }

    /// Returns the profiles of users that the caller may read.
    private func profiles(
        of users: [UserID],
        by caller: Caller
    ) async throws(SkyrowError) -> [UserID: any RecordSource] {
        guard !users.isEmpty else { return [:] }
        let access = try recordAccess(to: .everyone, for: .reading, by: caller)
        var ids: [(user: UserID, id: RecordID)] = []
        for user in Set(users) {
            // A text that cannot be a record id is not the id of a user.
            guard user.fitsAccount, let id = try? RecordID(type: .user, id: user.rawValue) else { continue }
            ids.append((user, id))
        }
        var profiles: [UserID: any RecordSource] = [:]
        for (named, outcome) in zip(ids, try await store.fetch(ids.map(\.id), with: access)) {
            if case .record(let profile) = outcome { profiles[named.user] = profile }
        }
        return profiles
    }
}

extension Caller {
    /// Returns the user; throws without one, although the endpoint has checked this already.
    fileprivate func requiredUser() throws(SkyrowError) -> UserID {
        guard let userID else { throw SkyrowError(.notAuthenticated, "Log in first.") }
        return userID
    }
}

extension SkyrowError {
    fileprivate static let relationToOneself = SkyrowError(
        .invalidArgument,
        "Users cannot have a relation to themselves.",
        info: ["arguments": .list([.string("targets")])]
    )
    fileprivate static let userIsBlocked = SkyrowError(
        .permissionDenied,
        "You have blocked this user; unblock them first."
    )
}
