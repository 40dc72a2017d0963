import SkyrowModel
import SkyrowProtocol

/// A user to whom the caller has a relation.
public struct RelatedUser: Hashable, Sendable {
    public var id: UserID
    /// The user's profile; nil when the caller may not read it.
    public var profile: Record?
    /// Whether both users have added each other, which makes them friends.
    public var isMutual: Bool

    public init(id: UserID, profile: Record?, isMutual: Bool) {
        self.id = id
        self.profile = profile
        self.isMutual = isMutual
    }
}

/// A page of the users of a relation.
public struct RelatedUsers: Hashable, Sendable {
    public var users: [RelatedUser]
    /// The total number of users.
    public var count: Int

    public init(users: [RelatedUser], count: Int) {
        self.users = users
        self.count = count
    }
}

extension SkyrowClient {
    /// Adds users as friends, or follows them; returns one outcome per user, in the order of the request.
    ///
    /// ```swift
    /// let outcomes = try await client.addRelations(.friend, to: ["u2"])
    /// ```
    ///
    /// Adding a friend is a request: two users are friends when both have added each other.
    @discardableResult
    public func addRelations(
        _ relation: UserRelation,
        to users: [UserID]
    ) async throws(ClientError) -> [Result<RelatedUser, SkyrowError>] {
        try await call(Actions.relationAdd, RelationChange(relation, users)).map { $0.result }
    }

    /// Removes users from the caller's friends, or stops following them.
    public func removeRelations(_ relation: UserRelation, to users: [UserID]) async throws(ClientError) {
        _ = try await call(Actions.relationRemove, RelationChange(relation, users))
    }

    /// Returns a page of the users of a relation, with the profiles that the caller may read.
    public func relations(
        _ relation: UserRelation,
        _ direction: RelationDirection = .mutual,
        limit: Int = 100,
        offset: Int = 0
    ) async throws(ClientError) -> RelatedUsers {
        let query = RelationQuery(relation, direction, RelationPart(limit: limit, offset: offset))
        return RelatedUsers(try await call(Actions.relationQuery, query))
    }

    /// Returns a page of the users who have added the caller as a friend and whom the caller has not added.
    public func relationRequests(limit: Int = 100, offset: Int = 0) async throws(ClientError) -> RelatedUsers {
        RelatedUsers(try await call(Actions.relationRequests, RelationPart(limit: limit, offset: offset)))
    }

    /// Blocks users, which ends every relation with them and prevents new ones, or unblocks them; returns the ids of the users
    /// for which that succeeded.
    @discardableResult
    public func block(_ users: [UserID], _ isBlocked: Bool = true) async throws(ClientError) -> [UserID] {
        let outcomes = try await call(Actions.relationBlock, RelationBlock(users, isBlocked: isBlocked))
        return outcomes.compactMap { outcome in
            switch outcome {
            case .related(let id, _, _), .done(let id): id
            case .failure: nil
            }
        }
    }
}

extension RelatedUsers {
    fileprivate init(_ page: RelationPage) {
        self.init(users: page.users.compactMap { try? $0.result.get() }, count: page.count)
    }
}

extension RelationOutcome {
    fileprivate var result: Result<RelatedUser, SkyrowError> {
        switch self {
        case .related(let id, let profile, let isMutual):
            .success(RelatedUser(id: id, profile: profile as? Record, isMutual: isMutual))
        case .done(let id): .success(RelatedUser(id: id, profile: nil, isMutual: false))
        case .failure(_, let error): .failure(error)
        }
    }
}
