internal import SkyrowCrypto
package import SkyrowModel
internal import SkyrowPostgres

/// A key that encrypts users' secrets in the database.
package struct SealingKey: Hashable, Sendable {
    package let name: String
    package let bytes: [UInt8]

    /// nil unless the name has 1 to 16 lowercase letters and digits, and there are 32 bytes.
    package init?(name: String, bytes: [UInt8]) {
        let letters = name.utf8.allSatisfy {
            (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0) || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0)
        }
        guard letters, (1...16).contains(name.utf8.count), bytes.count == AES256GCM.keyBytes else { return nil }
        self.name = name
        self.bytes = bytes
    }

    /// A key derived from a secret of the database; keys of a file cannot have its name.
    fileprivate init(number: UInt8, secret: [UInt8]) {
        name = "_\(number)"
        bytes = HMACSHA256(key: secret).code(of: Array("sealed secrets".utf8)).bytes
    }
}

/// The keys that encrypt users' secrets which the service has to read: the first seals, all open.
///
/// ```swift
/// let sealed = try keys.seal(secret, for: ["_factor", user])
/// let secret = keys.open(sealed, for: ["_factor", user])
/// ```
///
/// Sealing authenticates the location of a value, so that it cannot be opened if it is copied to another account.
package struct SealingKeys: Sendable {
    private static let version: UInt8 = 1

    private let keys: [SealingKey]

    /// - Parameters:
    ///   - given: the keys of the setting `secrets-key`; empty to use the database's own.
    ///   - secrets: the secrets of the application by number, which open values sealed before other keys were set.
    package init(given: [SealingKey], secrets: [UInt8: [UInt8]]) {
        keys = given + secrets.sorted { $0.key > $1.key }.map { SealingKey(number: $0.key, secret: $0.value) }
    }

    /// Throws `10000 UnexpectedError` if there is no key.
    package func seal(_ plain: [UInt8], for place: [String]) throws(SkyrowError) -> [UInt8] {
        guard let key = keys.first else { throw .unexpected }
        var generator = SystemRandomNumberGenerator()
        let nonce = (0..<AES256GCM.nonceBytes).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
        let head = [Self.version, UInt8(key.name.utf8.count)] + Array(key.name.utf8)
        do throws(AES256GCM.Failure) {
            return try head + nonce
                + AES256GCM.seal(plain, key: key.bytes, nonce: nonce, authenticating: Self.further(head, place))
        } catch {
            throw .unexpected
        }
    }

    /// Returns nil for a value that none of the keys has sealed for this location.
    package func open(_ sealed: [UInt8], for place: [String]) -> [UInt8]? {
        guard sealed.count > 2, sealed[0] == Self.version else { return nil }
        let head = Array(sealed.prefix(2 + Int(sealed[1])))
        let rest = sealed.dropFirst(head.count)
        let name = head.dropFirst(2)
        guard rest.count >= AES256GCM.nonceBytes,
            let key = keys.first(where: { Array($0.name.utf8) == Array(name) })
        else { return nil }
        return AES256GCM.open(
            Array(rest.dropFirst(AES256GCM.nonceBytes)),
            key: key.bytes,
            nonce: Array(rest.prefix(AES256GCM.nonceBytes)),
            authenticating: Self.further(head, place)
        )
    }

    /// The names of all keys; the first seals.
    package var names: [String] { keys.map(\.name) }

    /// SQL for the name of the key of a sealed value; NULL for a value of another form.
    static func name(in column: SQL) -> SQL {
        """
        CASE WHEN octet_length(\(column)) > 2 AND get_byte(\(column), 0) = \(Int32(version))
            THEN encode(substring(\(column) FROM 3 FOR get_byte(\(column), 1)), 'escape') END
        """
    }

    /// The length prefixes keep different parts from giving the same bytes.
    private static func further(_ head: [UInt8], _ place: [String]) -> [UInt8] {
        head + place.flatMap { text in Array("\(text.utf8.count):".utf8) + Array(text.utf8) }
    }
}

extension RecordStore {
    /// Returns the keys that seal and open secrets.
    package func sealing() async throws(SkyrowError) -> SealingKeys {
        let secrets = try await reporting { try await self.secrets() }
        return SealingKeys(given: sealingKeys, secrets: secrets)
    }
}
