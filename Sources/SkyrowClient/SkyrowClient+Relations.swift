import SkyrowJSON
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
        let request = RelationChangeRequest(relation, users)
        return try await call(.relationAdd, repeatability: .safe) {
            $0.relationChangeParameters(request)
        } read: { json throws(SkyrowError) in
            var outcomes: [Result<RelatedUser, SkyrowError>] = []
            for entry in json.elements {
                if let error = entry.relationError {
                    outcomes.append(.failure(error))
                } else {
                    outcomes.append(.success(try RelatedUser(result: entry)))
                }
            }
            return outcomes
        }
    }

    /// Removes users from the caller's friends, or stops following them.
    public func removeRelations(_ relation: UserRelation, to users: [UserID]) async throws(ClientError) {
        let request = RelationChangeRequest(relation, users)
        try await call(.relationRemove, repeatability: .safe) {
            $0.relationChangeParameters(request)
        } read: { _ throws(SkyrowError) in
        }
    }

    /// Returns a page of the users of a relation, with the profiles that the caller may read.
    public func relations(
        _ relation: UserRelation,
        _ direction: RelationDirection = .mutual,
        limit: Int = 100,
        offset: Int = 0
    ) async throws(ClientError) -> RelatedUsers {
        try await relatedUsers(.relationQuery, RelationQuery(relation, direction, limit: limit, offset: offset))
    }

    /// Returns a page of the users who have added the caller as a friend and whom the caller has not added.
    public func relationRequests(limit: Int = 100, offset: Int = 0) async throws(ClientError) -> RelatedUsers {
        try await relatedUsers(
            .relationRequests,
            RelationQuery(.friend, .inward, isPending: true, limit: limit, offset: offset)
        )
    }

    /// Blocks users, which ends every relation with them and prevents new ones, or unblocks them; returns the ids of the users
    /// for which that succeeded.
    @discardableResult
    public func block(_ users: [UserID], _ isBlocked: Bool = true) async throws(ClientError) -> [UserID] {
        let request = RelationBlockRequest(users, isBlocked: isBlocked)
        return try await call(.relationBlock, repeatability: .safe) {
            $0.relationBlockParameters(request)
        } read: { json throws(SkyrowError) in
            json.elements.compactMap { entry in
                entry.relationError == nil ? entry["id"]?.string.map { UserID($0) } : nil
            }
        }
    }

    private func relatedUsers(_ action: ActionName, _ query: RelationQuery) async throws(ClientError) -> RelatedUsers {
        try await call(action) {
            $0.relationQueryParameters(query)
        } read: { json throws(SkyrowError) in
            var users: [RelatedUser] = []
            if let list = json["users"] {
                for entry in list.elements { users.append(try RelatedUser(result: entry)) }
            }
            let count = json["info"]?["count"]?.wholeNumber.flatMap { Int(exactly: $0) }
            return RelatedUsers(users: users, count: count ?? users.count)
        }
    }
}

extension RelatedUser {
    fileprivate init(result json: JSONView) throws(SkyrowError) {
        guard let id = json["id"]?.string else { throw SkyrowError(.badRequest, "A user must have an id.") }
        var profile: Record?
        if let data = json["data"], !data.isNull { profile = try Record(data) }
        self.init(id: UserID(id), profile: profile, isMutual: json["mutual"]?.boolean ?? false)
    }
}

extension JSONView {
    /// The error of an error entry; nil for another entry.
    fileprivate var relationError: SkyrowError? {
        guard self["type"]?.string == "error", let data = self["data"] else { return nil }
        return SkyrowError(
            ErrorCode(rawValue: data["code"]?.wholeNumber.flatMap { Int(exactly: $0) } ?? 0),
            data["message"]?.string ?? ""
        )
    }
}
