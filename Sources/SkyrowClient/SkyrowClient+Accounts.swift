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
        return try await logIn(.authSignUp) { $0.signUpParameters(request) }
    }

    /// Creates an account without a login key and password, which is lost with its session.
    @discardableResult
    public func signUpAnonymously() async throws(ClientError) -> Account {
        try await logIn(.authSignUp, parameters: nil)
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
        let request = SignUpRequest(authData: authData, password: password, profile: try fields(of: profile))
        return try await logIn(.authRegister) { $0.signUpParameters(request) }
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
        let request = LogInRequest(
            authData: authData,
            password: password,
            newPassword: newPassword,
            device: device
        )
        return try await logIn(.authLogIn) { $0.logInParameters(request) }
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
        let request = ChangePasswordRequest(oldPassword: oldPassword, password: password)
        return try await logIn(.authPassword) { $0.changePasswordParameters(request) }
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
        try await logIn(action.name, parameters: action.writer(of: parameters))
    }

    /// Calls an action that returns an account with an access token, and stores the token.
    func logIn(
        _ action: ActionName,
        parameters: ((JSONWriter) -> Void)?
    ) async throws(ClientError) -> Account {
        let (account, session) = try await call(action, parameters: parameters) { json throws(SkyrowError) in
            try accountAndSession(json)
        }
        store(session)
        return account
    }
}

private func accountAndSession(_ json: JSONView) throws(SkyrowError) -> (Account, Session) {
    guard let userID = json["user_id"]?.string.map({ UserID($0) }), let token = json["access_token"]?.string,
        let profile = json["profile"]
    else {
        throw .invalidArgument("An account must have user_id, access_token and profile.")
    }
    func texts(_ list: JSONView?) -> [String] { list.map { $0.elements.compactMap(\.string) } ?? [] }
    let account = Account(
        userID: userID,
        profile: try Record(profile),
        roles: texts(json["roles"]).map { RoleName($0) },
        heldRoles: texts(profile["_roles"]).map { RoleName($0) },
        groups: texts(profile["_groups"]).map { GroupName($0) },
        isVerified: profile["_verified"]?.boolean ?? false,
        lastLoginAt: try json["last_login_at"]?.string.map { text throws(SkyrowError) in try Timestamp(rfc3339: text) },
        lastSeenAt: try json["last_seen_at"]?.string.map { text throws(SkyrowError) in try Timestamp(rfc3339: text) },
        isNew: json["is_new"]?.boolean ?? false,
        isAnonymous: json["is_anonymous"]?.boolean ?? false
    )
    return (account, Session(userID: userID, accessToken: token))
}
