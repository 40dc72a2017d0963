import SkyrowModel
import SkyrowProtocol

/// The checked parameters of `auth:signup`.
struct SignUpData {
    /// nil for an anonymous account.
    let password: String?
    /// The profile's fields, including login keys.
    var fields: [(name: FieldName, value: RecordValue)]
    /// Those that hooks have set.
    var trusted: Set<FieldName> = []

    /// Throws `108 InvalidArgument`, naming the invalid argument, and `126 PasswordPolicyViolated`.
    init(_ request: SignUpRequest, loginKeys: [FieldName], policy: AccountPolicy) throws(SkyrowError) {
        var fields: [(name: FieldName, value: RecordValue)] = []
        if request.authData.isEmpty, request.password == nil {
            password = nil
        } else {
            try policy.requirePasswords()
            guard !request.authData.isEmpty else { throw LoginData.missing(loginKeys) }
            guard let password = request.password else { throw .invalidArgument("Choose a password.", "password") }
            self.password = try Password.checkedNew(password, argument: "password")
            fields = try LoginData(request.authData, loginKeys: loginKeys).fields
        }
        for field in request.profile {
            guard !fields.contains(where: { $0.name == field.name }) else {
                throw .invalidArgument(
                    "Send a field either in auth_data or in profile, not in both.",
                    "auth_data",
                    "profile"
                )
            }
            if loginKeys.contains(field.name) {
                // An anonymous account is found only by its token.
                guard password != nil else {
                    throw .invalidArgument("An anonymous account cannot have a login key.", "profile")
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

    /// Throws `108 InvalidArgument` for a name that is not a login key, and for an empty value.
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

    /// Throws `108` for an invalid value of a login key; NULL means no value, which is allowed.
    static func check(_ value: RecordValue, argument: String) throws(SkyrowError) {
        switch value {
        case .null: return
        case .string(let text) where text.isName && !text.isInvisible:
            return
        default:
            throw .invalidArgument(
                "The value of a login key must be 1 to 255 bytes without NUL and have visible characters.",
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
/// A password is hashed in its composed form, so that devices which compose accents differently agree (RFC 8265). Hashes of
/// earlier versions are of the bytes as sent.
enum Password {
    /// Upper bound on the bytes of a new password.
    static let maximumByteCount = 1024
    /// Upper bound on the bytes of a compared password: earlier versions admitted as many.
    private static let maximumComparedByteCount = 4096

    /// Checks a password for comparison. Throws `108 InvalidArgument` for an empty one and one of more than 4096 bytes.
    static func checked(_ password: String, argument: String) throws(SkyrowError) -> String {
        guard (1...maximumComparedByteCount).contains(password.utf8.count) else { throw wrongLength(argument) }
        return password
    }

    /// Checks a new password. Throws `108 InvalidArgument` for an empty one and one of more than 1024 bytes.
    static func checkedNew(_ password: String, argument: String) throws(SkyrowError) -> String {
        guard (1...maximumByteCount).contains(password.utf8.count) else { throw wrongLength(argument) }
        return password
    }

    private static func wrongLength(_ argument: String) -> SkyrowError {
        .invalidArgument("A password must be 1 to \(maximumByteCount) bytes long.", argument)
    }
}

/// The rules for new passwords and login keys; existing ones remain valid.
package struct AccountPolicy: Hashable, Sendable {
    /// The scripts whose letters a login key may combine.
    package enum Scripts: String, Hashable, Sendable, CaseIterable {
        case any
        /// Letters of one script, or of scripts that are written together.
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

    /// Throws `111 NotSupported` if passwords are switched off.
    func requirePasswords() throws(SkyrowError) {
        guard admitsPasswords else {
            throw SkyrowError(.notSupported, "This service does not accept passwords; log in another way.")
        }
    }

    /// Checks a new password by its text alone. Throws `108 InvalidArgument`, `126 PasswordPolicyViolated`, and `111
    /// NotSupported` if passwords are switched off.
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

    /// Returns why the text cannot become the value of a login key; nil if it can.
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
        .invalidArgument("The letters of a login key must be of one script, such as Latin or Cyrillic.", key.rawValue)
    }

    private static func strayBlanks(_ key: FieldName) -> SkyrowError {
        .invalidArgument("A login key cannot begin or end with a blank or contain control characters.", key.rawValue)
    }
}
