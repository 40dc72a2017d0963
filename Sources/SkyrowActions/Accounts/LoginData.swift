import SkyrowModel

/// What `auth:signup` was sent, checked.
struct SignUpData {
    /// nil for an anonymous account.
    let password: String?
    /// The profile's fields, login keys included.
    let fields: [(name: FieldName, value: RecordValue)]

    /// Throws `108 InvalidArgument`, naming the argument at fault, and `126 PasswordPolicyViolated`.
    init(_ request: SignUpRequest, loginKeys: [FieldName], policy: AccountPolicy) throws(SkyrowError) {
        var fields: [(name: FieldName, value: RecordValue)] = []
        if request.authData.isEmpty, request.password == nil {
            password = nil
        } else {
            try policy.requirePasswords()
            guard !request.authData.isEmpty else { throw LoginData.missing(loginKeys) }
            guard let password = request.password else {
                throw .invalidArgument("Choose a password.", "password")
            }
            self.password = try Password.checkedNew(password, argument: "password")
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
        if let password { try policy.check(password, of: self.fields) }
        for field in self.fields where loginKeys.contains(field.name) { try policy.check(field.value, of: field.name) }
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
        case .string(let text) where text.isName && !text.isInvisible:
            return
        default:
            throw .invalidArgument(
                "The value of a login key is a text of 1 to 255 bytes without NUL that shows something.",
                argument
            )
        }
    }

    static func missing(_ loginKeys: [FieldName]) -> SkyrowError {
        let names = loginKeys.map(\.rawValue).joined(separator: ", ")
        return .invalidArgument("Send at least one of these in auth_data, and nothing else: \(names).", "auth_data")
    }
}

/// The rules of passwords.
///
/// A password is hashed in its composed form, so that devices which compose an accent in different ways agree (RFC 8265). Hashes
/// from before are of the bytes that were sent.
enum Password {
    /// What a new password may have.
    static let maximumByteCount = 1024
    /// So much is compared: passwords of earlier versions had as many.
    private static let maximumComparedByteCount = 4096

    /// A password to compare. Throws `108 InvalidArgument` for an empty one and one of more than 4096 bytes.
    static func checked(_ password: String, argument: String) throws(SkyrowError) -> String {
        guard (1...maximumComparedByteCount).contains(password.utf8.count) else { throw wrongLength(argument) }
        return password
    }

    /// A password to be. Throws `108 InvalidArgument` for an empty one and one of more than 1024 bytes.
    static func checkedNew(_ password: String, argument: String) throws(SkyrowError) -> String {
        guard (1...maximumByteCount).contains(password.utf8.count) else { throw wrongLength(argument) }
        return password
    }

    private static func wrongLength(_ argument: String) -> SkyrowError {
        .invalidArgument("A password is 1 to \(maximumByteCount) bytes long.", argument)
    }
}

/// What new passwords and login keys must be; what accounts have already goes on.
package struct AccountPolicy: Hashable, Sendable {
    /// Which letters a login key may put together.
    package enum Scripts: String, Hashable, Sendable, CaseIterable {
        case any
        /// Those of one script, or of scripts that are written together.
        case single
    }

    package var passwords: PasswordPolicy
    package var loginScripts: Scripts
    /// Whether users log in with passwords at all.
    package var admitsPasswords: Bool

    package init(
        passwords: PasswordPolicy = PasswordPolicy(),
        loginScripts: Scripts = .single,
        admitsPasswords: Bool = true
    ) {
        self.passwords = passwords
        self.loginScripts = loginScripts
        self.admitsPasswords = admitsPasswords
    }

    /// Throws `111 NotSupported` where passwords are switched off.
    func requirePasswords() throws(SkyrowError) {
        guard admitsPasswords else {
            throw SkyrowError(.notSupported, "This service takes no passwords; log in another way.")
        }
    }

    /// A new password whose text alone is checked; throws `108 InvalidArgument`, `126 PasswordPolicyViolated`, and `111
    /// NotSupported` where passwords are switched off.
    func accepted(_ password: String, argument: String) throws(SkyrowError) -> String {
        try requirePasswords()
        let password = try Password.checkedNew(password, argument: argument)
        if let violation = passwords.violation(in: password) { throw violation.error }
        return password
    }

    /// Throws `126 PasswordPolicyViolated` for the password of a new account with these fields.
    func check(_ password: String, of fields: [(name: FieldName, value: RecordValue)]) throws(SkyrowError) {
        var excluded: [String] = []
        var own: [String] = []
        for case (let name, .string(let text)) in fields {
            own.append(text)
            if passwords.excludedFields.contains(name) { excluded.append(text) }
        }
        if let violation = passwords.violation(in: password, excluded: excluded, own: own) { throw violation.error }
    }

    /// Why the text cannot be the value of a login key from now on; nil where it can.
    func refusal(of value: RecordValue, as key: FieldName) -> SkyrowError? {
        guard case .string(let text) = value else { return nil }
        if text.hasStrayBlanks { return AccountPolicy.strayBlanks(key) }
        return loginScripts == .single && text.mixesScripts ? AccountPolicy.mixedScripts(key) : nil
    }

    /// Throws `108 InvalidArgument` for a login key that mixes scripts, has a blank at an end, or a control character.
    func check(_ value: RecordValue, of key: FieldName) throws(SkyrowError) {
        if let refusal = refusal(of: value, as: key) { throw refusal }
    }

    private static func mixedScripts(_ key: FieldName) -> SkyrowError {
        .invalidArgument("A login key has letters of one script, such as Latin or Cyrillic.", key.rawValue)
    }

    private static func strayBlanks(_ key: FieldName) -> SkyrowError {
        .invalidArgument("A login key has no blank at an end and no control characters.", key.rawValue)
    }
}
