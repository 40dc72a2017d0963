internal import SkyrowCrypto
package import SkyrowModel

/// The keys with which recovery codes are hashed, so that the hashes cannot be searched without the database's secret.
package struct FactorKeys: Sendable {
    /// The highest number first, which makes new hashes.
    private let keys: [HMACSHA256]

    /// - Parameter secrets: the secrets of the application by number; the result is nil without a secret.
    init?(secrets: [UInt8: [UInt8]]) {
        guard !secrets.isEmpty else { return nil }
        keys = secrets.sorted { $0.key > $1.key }.map { secret in
            HMACSHA256(key: HMACSHA256(key: secret.value).code(of: Array("recovery code".utf8)).bytes)
        }
    }

    /// Returns the hash that is stored for a recovery code of an account.
    package func hash(_ code: String, of user: UserID) -> [UInt8] {
        keys[0].code(of: FactorKeys.message(code, user)).bytes
    }

    /// Returns the hashes that may be stored for it, one for each key.
    package func hashes(_ code: String, of user: UserID) -> [[UInt8]] {
        keys.map { $0.code(of: FactorKeys.message(code, user)).bytes }
    }

    private static func message(_ code: String, _ user: UserID) -> [UInt8] {
        Array("\(user.rawValue.utf8.count):\(user.rawValue):\(code)".utf8)
    }
}
