import SkyrowCrypto

/// What a password is compared with: a hash of ours, or one that came with an account from another system.
enum StoredPassword {
    case scrypt(PasswordHash)
    /// Of Skygear v1 and Parse; replaced by one of ours at the first login.
    case bcrypt(String)

    /// Reads the text of `_user.password_hash`; nil for one that no password belongs to.
    init?(_ text: String) {
        if let hash = PasswordHash(text) {
            self = .scrypt(hash)
        } else if Bcrypt.isHash(text) {
            self = .bcrypt(text)
        } else {
            return nil
        }
    }

    /// Whether a right password is hashed anew.
    func isWeaker(than cost: ScryptCost) -> Bool {
        switch self {
        case .scrypt(let hash): hash.cost.isWeaker(than: cost)
        case .bcrypt: true
        }
    }

    /// Whether a password belongs to it; takes as long as its cost says.
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
