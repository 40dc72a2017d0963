import SkyrowJSON
import SkyrowModel
import SkyrowProtocol

/// An account, as its owner sees it.
public struct Account: Hashable, Sendable {
    public var userID: UserID
    /// The record `user/<id>`.
    public var profile: Record
    /// The roles that are assigned to the user.
    public var roles: [RoleName]
    /// The assigned roles and all roles that contain them: all roles that the user has.
    public var heldRoles: [RoleName] = []
    /// The groups of the user.
    public var groups: [GroupName] = []
    /// Whether the address of the account is verified.
    public var isVerified = false
    /// When the user last logged in before this login.
    public var lastLoginAt: Timestamp?
    public var lastSeenAt: Timestamp?
    /// Whether a login by a provider or a custom token has just created the account.
    public var isNew = false
    /// Whether the access token is the account's only credential.
    public var isAnonymous = false
}

extension SkyrowClient {
    /// Creates an account and logs in to it.
    ///
    /// ```swift
    /// try await client.signUp(["username": "ann"], password: "correct horse", profile: ["age": 33])
    /// ```
    ///
    /// - Parameters:
    ///   - authData: one or more complete login keys.
    ///   - password: the password of the account.
    ///   - profile: further fields of the user's record.
    ///   - device: the device of the session, by which the user recognises it.
    @discardableResult
    public func signUp(
        _ authData: [String: String],
        password: String,
        profile: [String: RecordValue] = [:],
        device: SessionDevice = SessionDevice()
    ) async throws(ClientError) -> Account {
        let request = SignUpRequest(
            authData: authData,
            password: password,
            profile: try fields(of: profile),
            device: device
        )
        return try await logIn(Actions.authSignUp, request)
    }

    /// Creates an account without a login key and password, which is lost with its session.
    @discardableResult
    public func signUpAnonymously() async throws(ClientError) -> Account {
        try await logIn(Actions.authSignUp, SignUpRequest())
    }

    /// Gives an anonymous account login keys and a password; the account keeps its records.
    ///
    /// - Parameters:
    ///   - authData: one or more complete login keys.
    ///   - password: the password of the account.
    ///   - profile: further fields of the user's record.
    @discardableResult
    public func register(
        _ authData: [String: String],
        password: String,
        profile: [String: RecordValue] = [:]
    ) async throws(ClientError) -> Account {
        let request = RegisterRequest(authData: authData, password: password, profile: try fields(of: profile))
        return try await logIn(Actions.authRegister, request)
    }

    private func fields(
        of profile: [String: RecordValue]
    ) throws(ClientError) -> [(name: FieldName, value: RecordValue)] {
        var fields: [(name: FieldName, value: RecordValue)] = []
        for (name, value) in profile.sorted(by: { $0.key < $1.key }) {
            do throws(SkyrowError) {
                fields.append((try FieldName(name), value))
            } catch {
                throw .refused(error)
            }
        }
        return fields
    }

    /// Logs in with a login key and its password.
    ///
    /// - Parameters:
    ///   - authData: the login key by its name, `["username": "ann"]`.
    ///   - password: the password of the account.
    ///   - newPassword: replaces the password, such as one that is refused as too old (126 with the reason `PasswordExpired`).
    ///   - device: the device of the session, by which the user recognises it.
    @discardableResult
    public func logIn(
        _ authData: [String: String],
        password: String,
        newPassword: String? = nil,
        device: SessionDevice = SessionDevice()
    ) async throws(ClientError) -> Account {
        let request = LogInRequest(authData: authData, password: password, newPassword: newPassword, device: device)
        return try await logIn(Actions.authLogIn, request)
    }

    /// Ends the session, here in any case and on the service when it can be reached.
    ///
    /// Throws when the service does not respond; the client's session is removed in any case, and the service's expires.
    public func logOut() async throws(ClientError) {
        guard session != nil else { return }
        defer { store(nil) }
        do throws(ClientError) {
            try await call(Actions.authLogOut, ())
        } catch {
            // The session had already ended.
            guard error.serverCode == .accessTokenNotAccepted else { throw error }
        }
    }

    /// Changes the password, ends every session of the user, and begins a new one.
    @discardableResult
    public func changePassword(from oldPassword: String, to password: String) async throws(ClientError) -> Account {
        try await logIn(Actions.authPassword, ChangePasswordRequest(oldPassword: oldPassword, password: password))
    }

    /// Disables an account, as an administrator: its user cannot log in, and its sessions end.
    ///
    /// - Parameters:
    ///   - userID: the user of the account.
    ///   - message: a message for the user.
    ///   - expiry: when the account is enabled again automatically; nil means never.
    public func disableAccount(
        _ userID: UserID,
        message: String? = nil,
        until expiry: Timestamp? = nil
    ) async throws(ClientError) {
        try await call(
            Actions.authDisableSet,
            DisabledState(userID: userID, isDisabled: true, message: message, expiry: expiry)
        )
    }

    /// Enables a disabled account, as an administrator.
    public func enableAccount(_ userID: UserID) async throws(ClientError) {
        try await call(Actions.authDisableSet, DisabledState(userID: userID, isDisabled: false))
    }

    /// Returns the account of the logged-in user; the session keeps its access token.
    public func me() async throws(ClientError) -> Account {
        try await logIn(Actions.me, ())
    }

    /// Calls an action that returns an account with an access token, and stores the token.
    func logIn<Parameters>(
        _ action: Action<Parameters, AuthResult>,
        _ parameters: Parameters
    ) async throws(ClientError) -> Account {
        try await logIn(action.description, parameters: action.writer(of: parameters))
    }

    /// Calls an action that returns an account with an access token, and stores the token.
    func logIn(_ action: ActionDescription, parameters: ((JSONWriter) -> Void)?) async throws(ClientError) -> Account {
        let (account, session) = try await call(action, parameters: parameters) { json throws(SkyrowError) in
            let result = try Codec.authResult.read(json, "result")
            return (try Account(result), Session(userID: result.userID, accessToken: result.accessToken))
        }
        store(session)
        return account
    }
}

extension Account {
    fileprivate init(_ result: AuthResult) throws(SkyrowError) {
        guard let profile = result.profile.record as? Record else {
            throw .invalidArgument("The profile of an account must be a record.")
        }
        self.init(
            userID: result.userID,
            profile: profile,
            roles: result.roles,
            heldRoles: result.profile.roles,
            groups: result.profile.groups,
            isVerified: result.profile.verified ?? false,
            lastLoginAt: result.lastLoginAt,
            lastSeenAt: result.lastSeenAt,
            isNew: result.isNew ?? false,
            isAnonymous: result.isAnonymous
        )
    }
}
