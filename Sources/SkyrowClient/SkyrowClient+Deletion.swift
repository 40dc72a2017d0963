import SkyrowJSON
import SkyrowModel
import SkyrowProtocol

/// The result of deleting an account.
public struct AccountDeletion: Hashable, Sendable {
    /// Whether the account is deleted; otherwise it is disabled, and the service completes the deletion by itself.
    public var isFinished: Bool
    /// The number of deleted records.
    public var deleted: Int
    /// The number of remaining records that no longer name a user.
    public var anonymised: Int
    /// The number of records with a new owner.
    public var transferred: Int
    /// The number of records that remain without a name, instead of being deleted, since records of others refer to them.
    public var kept: Int
}

/// The result of merging an anonymous account.
public struct AccountMerge: Hashable, Sendable {
    /// A private record whose id changed, or that lost values.
    public struct Change: Hashable, Sendable {
        public var from: RecordID
        public var to: RecordID
        /// The fields that became null, since another record of the private database has their values.
        public var clearedFields: [String]
    }

    /// Whether everything has moved; otherwise the service completes the merge by itself.
    public var isFinished: Bool
    /// The number of records that belong to the user now.
    public var records: Int
    /// The changed private records, at most 1,000 of them.
    public var changes: [Change]
}

extension SkyrowClient {
    /// Moves the records and relations of an anonymous account to the user's account, and deletes the anonymous account.
    ///
    /// ```swift
    /// let guest = client.session?.accessToken
    /// try await client.logIn(["username": "ann"], password: "correct horse")
    /// if let guest { try await client.merge(tokenOfAnonymousAccount: guest) }
    /// ```
    ///
    /// Repeating the call returns the same result.
    @discardableResult
    public func merge(tokenOfAnonymousAccount token: String) async throws(ClientError) -> AccountMerge {
        try await call(.authMerge) {
            $0.mergeParameters(MergeRequest(token: token))
        } read: { json throws(SkyrowError) in
            let report = try MergeReport(result: json)
            return AccountMerge(
                isFinished: report.isFinished,
                records: report.records,
                changes: report.changes.map {
                    AccountMerge.Change(from: $0.from, to: $0.to, clearedFields: $0.cleared)
                }
            )
        }
    }

    /// Deletes the user's account with its private records, and removes the session.
    ///
    /// ```swift
    /// try await client.stepUp(password: "correct horse")
    /// try await client.deleteAccount()
    /// ```
    ///
    /// Throws `138 StepUpRequired` unless the user has proved their identity within the last minutes.
    @discardableResult
    public func deleteAccount() async throws(ClientError) -> AccountDeletion {
        let deletion = try await call(.authDelete) { json throws(SkyrowError) in try AccountDeletion(json) }
        store(nil)
        return deletion
    }

    /// Creates an account for an email address, as an administrator; a mail contains a link to choose the password.
    ///
    /// - Parameters:
    ///   - email: the address.
    ///   - language: the language of the mail, such as `de`.
    @discardableResult
    public func invite(_ email: String, language: String? = nil) async throws(ClientError) -> UserID {
        let request = CodeRequest(email: email, language: language)
        return try await call(.authInvite) {
            $0.codeRequestParameters(request)
        } read: { json throws(SkyrowError) in
            guard let user = json["user_id"]?.string else { throw .invalidArgument("An invitation must have user_id.") }
            return UserID(user)
        }
    }

    /// Deletes the account of a user; requires the master key.
    ///
    /// - Parameters:
    ///   - userID: the user.
    ///   - releasing: whether references of other records to the profile, which would otherwise keep it, become null.
    @discardableResult
    public func deleteUser(_ userID: UserID, releasing: Bool = false) async throws(ClientError) -> AccountDeletion {
        let request = DeleteUserRequest(userID: userID, releases: releasing)
        return try await call(.userDelete) {
            $0.deleteUserParameters(request)
        } read: { json throws(SkyrowError) in
            try AccountDeletion(json)
        }
    }
}

extension AccountDeletion {
    fileprivate init(_ json: JSONView) throws(SkyrowError) {
        func count(_ name: StaticString) throws(SkyrowError) -> Int {
            guard case .integer(let number)? = json[name]?.number else {
                throw .invalidArgument("A deletion must have the number \(name).")
            }
            return Int(number)
        }
        guard let isFinished = json["finished"]?.boolean else {
            throw .invalidArgument("A deletion must have the boolean finished.")
        }
        self.init(
            isFinished: isFinished,
            deleted: try count("deleted"),
            anonymised: try count("anonymised"),
            transferred: try count("transferred"),
            kept: try count("kept")
        )
    }
}
