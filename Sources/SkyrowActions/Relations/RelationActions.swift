package import SkyrowModel
import SkyrowStore

extension ActionService {
    /// `relation:add`: one outcome for each target, in the order of the request.
    ///
    /// A user whose profile the caller may not read counts as missing, unless a setting permits it, and so does a user who blocks
    /// the caller.
    package func addRelations(
        _ request: RelationChangeRequest,
        by caller: Caller
    ) async throws(SkyrowError) -> [RelationOutcome] {
        try await observed(.relationAdd) { () async throws(SkyrowError) in
            let user = try caller.requiredUser()
            let profiles = try await profiles(of: request.targets, by: caller)
            let targets = request.targets.filter { target in
                target != user && isUserID(target.rawValue)
                    && (profiles[target] != nil || configuration.relationAudience == .everyone)
            }
            let additions = try await store.relations.add(request.relation, from: user, to: targets)
            return request.targets.map { target in
                if target == user { return .failure(target, .relationToOneself) }
                switch additions[target] {
                case .added(let isMutual): return .related(target, profile: profiles[target], isMutual: isMutual)
                case .blocked: return .failure(target, .userIsBlocked)
                case .missing, nil: return .failure(target, .userNotFound)
                }
            }
        }
    }

    /// `relation:remove`: one outcome for each target; a missing relation is no error.
    package func removeRelations(
        _ request: RelationChangeRequest,
        by caller: Caller
    ) async throws(SkyrowError) -> [RelationOutcome] {
        try await observed(.relationRemove) { () async throws(SkyrowError) in
            let user = try caller.requiredUser()
            try await store.relations.remove(request.relation, from: user, to: try withoutNUL(request.targets))
            return request.targets.map { .done($0) }
        }
    }

    /// `relation:block`: blocks users, or ends that; one outcome for each target.
    package func blockRelations(
        _ request: RelationBlockRequest,
        by caller: Caller
    ) async throws(SkyrowError) -> [RelationOutcome] {
        try await observed(.relationBlock) { () async throws(SkyrowError) in
            let user = try caller.requiredUser()
            guard request.isBlocked else {
                try await store.relations.remove(.block, from: user, to: try withoutNUL(request.targets))
                return request.targets.map { .done($0) }
            }
            let profiles = try await profiles(of: request.targets, by: caller)
            let targets = request.targets.filter { $0 != user && profiles[$0] != nil }
            let blocked = try await store.relations.block(targets, by: user)
            return request.targets.map { target in
                if target == user { return .failure(target, .relationToOneself) }
                return blocked.contains(target) ? .done(target) : .failure(target, .userNotFound)
            }
        }
    }

    /// `relation:query`: a page of the users in a relation of the caller's.
    ///
    /// - Parameter turn: the request's admission to the read queue; nil for none.
    package func relations(
        _ query: RelationQuery,
        by caller: Caller,
        turn: ReadTurn? = nil
    ) async throws(SkyrowError) -> RelationPage {
        try await observed(.relationQuery) { () async throws(SkyrowError) in
            try await page(query, by: caller, turn)
        }
    }

    /// `relation:requests`: a page of the users who have added the caller as a friend, but whom the caller has not added.
    ///
    /// - Parameter turn: the request's admission to the read queue; nil for none.
    package func relationRequests(
        _ query: RelationQuery,
        by caller: Caller,
        turn: ReadTurn? = nil
    ) async throws(SkyrowError) -> RelationPage {
        try await observed(.relationRequests) { () async throws(SkyrowError) in
            try await page(query, by: caller, turn)
        }
    }

    private func page(
        _ query: RelationQuery,
        by caller: Caller,
        _ turn: ReadTurn?
    ) async throws(SkyrowError) -> RelationPage {
        let user = try caller.requiredUser()
        // The query counts edges joined with profiles, up to 101,000.
        try await turn?.move(to: .join)
        let access = try recordAccess(to: .everyone, for: .reading, by: caller)
        let found = try await store.relations.users(of: user, query, readableBy: access)
        let profiles = try await profiles(of: found.users.map(\.id), by: caller)
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
            guard isUserID(user.rawValue), let id = try? RecordID(type: .user, id: user.rawValue) else { continue }
            ids.append((user, id))
        }
        var profiles: [UserID: any RecordSource] = [:]
        for (named, outcome) in zip(ids, try await store.fetch(ids.map(\.id), with: access)) {
            if case .record(let profile) = outcome { profiles[named.user] = profile }
        }
        return profiles
    }

    private func withoutNUL(_ users: [UserID]) throws(SkyrowError) -> [UserID] {
        guard users.allSatisfy({ !$0.rawValue.hasNUL }) else {
            throw .invalidArgument("A user id cannot contain NUL.", "targets")
        }
        return users
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
