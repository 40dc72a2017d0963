import SkyrowJSON
import SkyrowModel
import SkyrowWire

/// What the deletion of an account has done.
public struct AccountDeletion: Hashable, Sendable {
    /// Whether the account is gone; otherwise it is disabled, and the service goes on by itself.
    public var isFinished: Bool
    /// How many records were deleted.
    public var deleted: Int
    /// How many records stay that name no user any more.
    public var anonymised: Int
    /// How many records have another owner now.
    public var transferred: Int
    /// How many records were to be deleted, and stay without a name since records of others refer to them.
    public var kept: Int
}

/// What the merge of an anonymous account has done.
public struct AccountMerge: Hashable, Sendable {
    /// A private record that has another id now, or lacks values.
    public struct Change: Hashable, Sendable {
        public var from: RecordID
        public var to: RecordID
        /// The fields that became null, since another record of the private database has their values.
        public var clearedFields: [String]
    }

    /// Whether everything has moved; otherwise the service goes on by itself.
    public var isFinished: Bool
    /// How many records are the user's now.
    public var records: Int
    /// At most 1,000 of them.
    public var changes: [Change]
}

extension SkyrowClient {
    /// Moves the records and relations of an anonymous account to that of the user, and deletes it.
    ///
    /// ```swift
    /// let guest = client.session?.accessToken
    /// try await client.logIn(["username": "ann"], password: "correct horse")
    /// if let guest { try await client.merge(tokenOfAnonymousAccount: guest) }
    /// ```
    ///
    /// The same call again returns the same.
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

    /// Deletes the account of the user with its private records, and forgets the session.
    ///
    /// ```swift
    /// try await client.stepUp(password: "correct horse")
    /// try await client.deleteAccount()
    /// ```
    ///
    /// Throws `138 StepUpRequired` where the user has not proved within the last minutes who it is.
    @discardableResult
    public func deleteAccount() async throws(ClientError) -> AccountDeletion {
        let deletion = try await call(.authDelete) { json throws(SkyrowError) in try AccountDeletion(json) }
        store(nil)
        return deletion
    }

    /// Makes an account for the user of an address, as an administrator; a mail brings a link to choose its password.
    ///
    /// - Parameters:
    ///   - email: the address.
    ///   - language: that of the mail, such as `de`.
    @discardableResult
    public func invite(_ email: String, language: String? = nil) async throws(ClientError) -> UserID {
        let request = CodeRequest(email: email, language: language)
        return try await call(.authInvite) {
            $0.codeRequestParameters(request)
        } read: { json throws(SkyrowError) in
            guard let user = json["user_id"]?.string else { throw .invalidArgument("An invitation has user_id.") }
            return UserID(user)
        }
    }

    /// Deletes the account of a user, with the master key.
    ///
    /// - Parameters:
    ///   - userID: whose account it is.
    ///   - releasing: whether references of other records to the profile become null that would keep it.
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
                throw .invalidArgument("A deletion has the number \(name).")
            }
            return Int(number)
        }
        guard let isFinished = json["finished"]?.boolean else {
            throw .invalidArgument("A deletion says whether it is finished.")
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
