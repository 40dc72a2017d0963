import SkyrowCrypto

/// The hash that a password is verified against: the service's, or one imported from another system.
enum StoredPassword {
    case scrypt(PasswordHash)
    /// Of Skygear v1 and Parse; replaced by scrypt at the first login.
    case bcrypt(String)

    /// Parses the text of `_user.password_hash`; nil for a text that is not a known hash.
    init?(_ text: String) {
        if let hash = PasswordHash(text) {
            self = .scrypt(hash)
        } else if Bcrypt.isHash(text) {
            self = .bcrypt(text)
        } else {
            return nil
        }
    }

    /// Returns whether a right password is hashed again.
    func isWeaker(than cost: ScryptCost) -> Bool {
        switch self {
        case .scrypt(let hash): hash.cost.isWeaker(than: cost)
        case .bcrypt: true
        }
    }

    /// Returns whether it is the password's hash; the cost determines the duration.
    func matches(_ password: String) throws -> Bool {
        switch self {
        case .scrypt(let hash): return try hash.matches(password)
        case .bcrypt(let hash):
            var bytes = Array(password.utf8)
            defer { bytes.cleanse() }
            return try Bcrypt.matches(bytes, hash: hash)
        }
    }
}
