package import SkyrowModel
package import SkyrowPostgres

/// An application as the database records it, with the keys and host names of its requests.
package struct RegisteredApplication: Hashable, Sendable {
    package var name: ApplicationName
    /// The PostgreSQL schema of its records.
    package var schema: SQLIdentifier
    /// Whether its keys and host names are refused.
    package var isDisabled = false
    package var createdAt: Timestamp
    /// In the order of their creation.
    package var keys: [ApplicationKey] = []
    /// Sorted.
    package var hosts: [HostName] = []
}

/// A key of an application; the database has only its hash.
package struct ApplicationKey: Hashable, Sendable {
    package enum Kind: String, CaseIterable, Sendable {
        /// Identifies clients.
        case api
        /// Passes every rule.
        case master
    }

    package var kind: Kind
    /// SHA-256 of the key, 32 bytes.
    package var hash: [UInt8]
    /// The first characters of the key, by which an operator recognises it.
    package var hint: String
    package var createdAt: Timestamp
    /// nil if the key does not expire.
    package var expiresAt: Timestamp?
}

/// A key that was just created; its text is not stored.
package struct NewApplicationKey: Sendable {
    package var kind: ApplicationKey.Kind
    package var hash: [UInt8]
    package var hint: String

    package init(kind: ApplicationKey.Kind, hash: [UInt8], hint: String) {
        self.kind = kind
        self.hash = hash
        self.hint = hint
    }
}
