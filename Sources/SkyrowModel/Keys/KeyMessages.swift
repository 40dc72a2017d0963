/// A key in the database, without its text, which only its creator has.
package struct StoredKey: Hashable, Sendable {
    package var id: KeyID
    package var name: String
    package var kind: KeyKind
    package var scopes: [KeyScope]
    /// The addresses from which it is accepted; empty for any.
    package var networks: [AddressRange]
    package var createdAt: Timestamp
    /// nil means never.
    package var expiresAt: Timestamp?
    package var revokedAt: Timestamp?
    /// To the minute; nil before the first use.
    package var lastUsedAt: Timestamp?
    /// Until when the text before the last `key:rotate` is accepted.
    package var previousUntil: Timestamp?

    package init(
        id: KeyID,
        name: String,
        kind: KeyKind,
        scopes: [KeyScope] = [],
        networks: [AddressRange] = [],
        createdAt: Timestamp,
        expiresAt: Timestamp? = nil,
        revokedAt: Timestamp? = nil,
        lastUsedAt: Timestamp? = nil,
        previousUntil: Timestamp? = nil
    ) {
        self.id = id
        self.name = name
        self.kind = kind
        self.scopes = scopes
        self.networks = networks
        self.createdAt = createdAt
        self.expiresAt = expiresAt
        self.revokedAt = revokedAt
        self.lastUsedAt = lastUsedAt
        self.previousUntil = previousUntil
    }
}

/// A key and its text, which is shown only once.
package struct IssuedKey: Hashable, Sendable {
    package var key: StoredKey
    package var text: String

    package init(_ key: StoredKey, text: String) {
        self.key = key
        self.text = text
    }
}

/// `key:create`, decoded.
package struct KeyCreateRequest: Hashable, Sendable {
    package var name: String
    package var kind: KeyKind
    package var scopes: [KeyScope]
    package var networks: [AddressRange]
    package var expiresAt: Timestamp?

    /// Upper bound on the keys of an application that are not revoked, since processes keep them all in memory.
    package static let maximumKeys = 1000
    package static let maximumNetworks = 100
    package static let nameSentence =
        "A key name must be 1 to 255 bytes in NFC, without control characters and without a space at either end."

    /// Throws `108 InvalidArgument` for an invalid name, and for too many scopes or networks.
    package init(
        name: String,
        kind: KeyKind = .client,
        scopes: [KeyScope] = [],
        networks: [AddressRange] = [],
        expiresAt: Timestamp? = nil
    ) throws(SkyrowError) {
        guard name.isName, !name.unicodeScalars.contains(where: { $0.value < 0x20 || $0.value == 0x7F }) else {
            throw .invalidArgument(Self.nameSentence, "name")
        }
        guard scopes.count <= KeyScope.maximumCount else {
            throw .invalidArgument("A key can have at most \(KeyScope.maximumCount) scopes.", "scopes")
        }
        guard networks.count <= Self.maximumNetworks else {
            throw .invalidArgument("A key can have at most \(Self.maximumNetworks) networks.", "networks")
        }
        self.name = name
        self.kind = kind
        // Each scope once, in the given order.
        var seen: Set<KeyScope> = []
        self.scopes = scopes.filter { seen.insert($0).inserted }
        self.networks = networks
        self.expiresAt = expiresAt
    }
}

/// `key:rotate`, decoded.
package struct KeyRotateRequest: Hashable, Sendable {
    package var id: KeyID
    /// How long the former text remains accepted.
    package var overlap: Duration

    /// In seconds: a year.
    package static let maximumOverlap = 365 * 86_400
    package static let defaultOverlap = 7 * 86_400

    package init(id: KeyID, overlap: Duration) {
        self.id = id
        self.overlap = overlap
    }
}

/// The result of an action on keys.
package enum KeyResult: Hashable, Sendable {
    /// `key:create`, `key:rotate`
    case issued(IssuedKey)
    /// `key:list`
    case keys([StoredKey])
}
