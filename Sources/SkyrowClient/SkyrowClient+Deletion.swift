public import SkyrowModel
import SkyrowProtocol

/// The result of deleting an account.
public typealias AccountDeletion = DeletionReport

/// The result of merging an anonymous account.
public typealias AccountMerge = MergeReport

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
        try await call(Actions.authMerge, token)
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
        let deletion = try await call(Actions.authDelete, ())
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
        try await call(Actions.authInvite, CodeRequest(email: email, language: language))
    }

    /// Deletes the account of a user; requires the master key.
    ///
    /// - Parameters:
    ///   - userID: the user.
    ///   - releasing: whether references of other records to the profile, which would otherwise keep it, become null.
    @discardableResult
    public func deleteUser(_ userID: UserID, releasing: Bool = false) async throws(ClientError) -> AccountDeletion {
        try await call(Actions.userDelete, UserDeletion(userID: userID, releases: releasing))
    }
}
