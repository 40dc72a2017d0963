/// What identifies a caller before anything was checked, from headers or body.
package struct Credentials: Sendable, Hashable {
    /// An API key or the master key.
    package var key: String?
    package var accessToken: String?
    /// `_user_id`: whom the master key acts as.
    package var actingUserID: UserID?
    /// Whether the request comes from where the master key counts; elsewhere it is as wrong as any other.
    package var admitsMasterKey: Bool
    /// The address that the request comes from; nil for the machine itself.
    package var address: ClientAddress?
    /// Whether a connection has kept them since it was opened. Then a token that was replaced meanwhile is old and not stolen.
    package var isHeld = false
    /// The SHA-256 of an access token, where the token itself is not at hand.
    package var sessionHash: [UInt8]?

    package init(
        key: String? = nil,
        accessToken: String? = nil,
        actingUserID: UserID? = nil,
        admitsMasterKey: Bool = true,
        address: ClientAddress? = nil
    ) {
        self.key = key
        self.accessToken = accessToken
        self.actingUserID = actingUserID
        self.admitsMasterKey = admitsMasterKey
        self.address = address
    }
}

/// `auth:signup`, decoded. Without login data and password it makes an anonymous account.
package struct SignUpRequest: Sendable {
    /// Login keys and their values, `["username": "ann"]`.
    package var authData: [String: String]
    package var password: String?
    /// Further fields of the `user` record.
    package var profile: [(name: FieldName, value: RecordValue)]
    package var device: SessionDevice

    package init(
        authData: [String: String] = [:],
        password: String? = nil,
        profile: [(name: FieldName, value: RecordValue)] = [],
        device: SessionDevice = SessionDevice()
    ) {
        self.authData = authData
        self.password = password
        self.profile = profile
        self.device = device
    }
}

/// `auth:login`, decoded.
package struct LogInRequest: Sendable {
    package var authData: [String: String]
    package var password: String
    /// Takes the password's place with the login.
    package var newPassword: String?
    package var device: SessionDevice

    package init(
        authData: [String: String],
        password: String,
        newPassword: String? = nil,
        device: SessionDevice = SessionDevice()
    ) {
        self.authData = authData
        self.password = password
        self.newPassword = newPassword
        self.device = device
    }
}

/// `auth:password`, decoded.
package struct ChangePasswordRequest: Sendable {
    package var oldPassword: String
    package var password: String

    package init(oldPassword: String, password: String) {
        self.oldPassword = oldPassword
        self.password = password
    }
}

/// `auth:disable:set`, decoded.
package struct SetDisabledRequest: Sendable {
    /// The longest message, in bytes.
    package static let maximumMessageBytes = 1000

    package var userID: UserID
    package var isDisabled: Bool
    /// The message for the user.
    package var message: String?
    /// When the account opens again by itself; nil means never.
    package var expiry: Timestamp?

    package init(userID: UserID, isDisabled: Bool, message: String? = nil, expiry: Timestamp? = nil) {
        self.userID = userID
        self.isDisabled = isDisabled
        self.message = message
        self.expiry = expiry
    }
}

/// The one result of `auth:signup`, `auth:login`, `auth:password`, `auth:become`, `auth:rotate`, `me` and the logins by others'
/// word.
package struct AuthResult: Sendable {
    package var userID: UserID
    package var profile: any RecordSource
    /// Left out of the result when empty.
    package var roles: [RoleName]
    package var accessToken: String
    /// 2 where a second factor was given for it, else 1.
    package var level = 1
    /// The values before this call, so both are absent at signup.
    package var lastLoginAt: Timestamp?
    package var lastSeenAt: Timestamp?
    /// Whether a login by another's word has made the account; nil for what is no such login.
    package var isNew: Bool?
    /// Whether the account has no way to log in but its token; left out of the result when false.
    package var isAnonymous = false

    package init(
        userID: UserID,
        profile: any RecordSource,
        roles: [RoleName],
        accessToken: String,
        lastLoginAt: Timestamp? = nil,
        lastSeenAt: Timestamp? = nil,
        isNew: Bool? = nil
    ) {
        self.userID = userID
        self.profile = profile
        self.roles = roles
        self.accessToken = accessToken
        self.lastLoginAt = lastLoginAt
        self.lastSeenAt = lastSeenAt
        self.isNew = isNew
    }
}

/// `role:assign` and `role:revoke`, decoded.
package struct RoleMembersRequest: Sendable {
    package var roles: [RoleName]
    package var users: [UserID]

    package init(roles: [RoleName], users: [UserID]) {
        self.roles = roles
        self.users = users
    }
}

/// `schema:create`, decoded: types to make and fields to add to those that exist.
package struct SchemaCreateRequest: Sendable {
    package var types: [RecordType]

    package init(types: [RecordType]) {
        self.types = types
    }
}

/// `schema:rename`, decoded.
package struct SchemaRenameRequest: Sendable {
    package var type: RecordTypeName
    package var field: FieldName
    package var newName: FieldName

    package init(type: RecordTypeName, field: FieldName, newName: FieldName) {
        self.type = type
        self.field = field
        self.newName = newName
    }
}

/// `schema:delete`, decoded.
package struct SchemaDeleteRequest: Sendable {
    package var type: RecordTypeName
    package var field: FieldName

    package init(type: RecordTypeName, field: FieldName) {
        self.type = type
        self.field = field
    }
}
