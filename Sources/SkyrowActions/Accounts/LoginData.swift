import SkyrowModel

/// What `auth:signup` was sent, checked.
struct SignUpData {
    /// nil for an anonymous account.
    let password: String?
    /// The profile's fields, login keys included.
    let fields: [(name: FieldName, value: RecordValue)]

    /// Throws `108 InvalidArgument`, naming the argument at fault.
    init(_ request: SignUpRequest, loginKeys: [FieldName]) throws(SkyrowError) {
        var fields: [(name: FieldName, value: RecordValue)] = []
        if request.authData.isEmpty, request.password == nil {
            password = nil
        } else {
            guard !request.authData.isEmpty else { throw LoginData.missing(loginKeys) }
            guard let password = request.password else {
                throw .invalidArgument("Choose a password.", "password")
            }
            self.password = try Password.checked(password, argument: "password")
            fields = try LoginData(request.authData, loginKeys: loginKeys).fields
        }
        for field in request.profile {
            guard !fields.contains(where: { $0.name == field.name }) else {
                throw .invalidArgument("A field is either in auth_data or in profile.", "auth_data", "profile")
            }
            if loginKeys.contains(field.name) {
                // An anonymous account is found by its token alone.
                guard password != nil else {
                    throw .invalidArgument("An anonymous account has no login key.", "profile")
                }
                try LoginData.check(field.value, argument: "profile")
            }
        }
        self.fields = fields + request.profile
    }
}

/// Values of login keys.
struct LoginData {
    let values: [FieldName: String]

    /// Throws `108 InvalidArgument` for a key that is none, and for an empty value.
    init(_ authData: [String: String], loginKeys: [FieldName]) throws(SkyrowError) {
        var values: [FieldName: String] = [:]
        for (name, value) in authData {
            guard let key = loginKeys.first(where: { $0.rawValue.isSameText(as: name) }) else {
                throw LoginData.missing(loginKeys)
            }
            try LoginData.check(.string(value), argument: "auth_data")
            values[key] = value
        }
        self.values = values
    }

    var fields: [(name: FieldName, value: RecordValue)] {
        values.sorted { $0.key < $1.key }.map { ($0.key, .string($0.value)) }
    }

    /// Throws `108` for what is not the value of a login key; NULL is none, which is allowed.
    static func check(_ value: RecordValue, argument: String) throws(SkyrowError) {
        switch value {
        case .null: return
        case .string(let text) where (1...255).contains(text.utf8.count) && !text.utf8.contains(0): return
        case .string, .integer, .number, .boolean, .datetime, .json, .reference, .sequence, .bytes:
            throw .invalidArgument("The value of a login key is a text of 1 to 255 bytes without NUL.", argument)
        }
    }

    static func missing(_ loginKeys: [FieldName]) -> SkyrowError {
        let names = loginKeys.map(\.rawValue).joined(separator: ", ")
        return .invalidArgument("Send at least one of these in auth_data, and nothing else: \(names).", "auth_data")
    }
}

/// The rules of passwords.
///
/// A password is hashed as the bytes that were sent. It is not normalised: two devices that compose an accent in different
/// ways disagree, as they did with Skygear's bcrypt, but no password ever means another one.
enum Password {
    /// So much is hashed without being a way to make the service work.
    static let maximumByteCount = 4096

    /// Throws `108 InvalidArgument` for an empty password and one of more than 4096 bytes.
    static func checked(_ password: String, argument: String) throws(SkyrowError) -> String {
        guard (1...maximumByteCount).contains(password.utf8.count) else {
            throw .invalidArgument("A password is 1 to \(maximumByteCount) bytes long.", argument)
        }
        return password
    }
}
