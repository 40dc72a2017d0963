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
