internal import SkyrowCrypto
package import SkyrowModel

/// The keys under which recovery codes are stored, so that their hashes cannot be searched without the database's secret.
package struct FactorKeys: Sendable {
    /// The highest number first, which makes new hashes.
    private let keys: [HMACSHA256]

    /// - Parameter secrets: those of the application by their numbers; nil without any.
    init?(secrets: [UInt8: [UInt8]]) {
        guard !secrets.isEmpty else { return nil }
        keys = secrets.sorted { $0.key > $1.key }.map { secret in
            HMACSHA256(key: HMACSHA256(key: secret.value).code(of: Array("recovery code".utf8)).bytes)
        }
    }

    /// What is stored of a recovery code of an account.
    package func hash(_ code: String, of user: UserID) -> [UInt8] {
        keys[0].code(of: FactorKeys.message(code, user)).bytes
    }

    /// What may be stored of it, under any of the keys.
    package func hashes(_ code: String, of user: UserID) -> [[UInt8]] {
        keys.map { $0.code(of: FactorKeys.message(code, user)).bytes }
    }

    private static func message(_ code: String, _ user: UserID) -> [UInt8] {
        Array("\(user.rawValue.utf8.count):\(user.rawValue):\(code)".utf8)
    }
}
