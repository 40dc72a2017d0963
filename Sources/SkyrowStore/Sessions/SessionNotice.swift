internal import SkyrowJSON
package import SkyrowModel
internal import SkyrowPostgres

/// A notification about what is cached of the database besides its schema: sessions, keys, files and functions.
package enum SessionNotice: Hashable, Sendable {
    /// Notifications arrive from now on. With `again`, some may have been lost in an interruption.
    case listening(again: Bool)
    /// The session of the token with this hash has ended.
    case token(hash: [UInt8])
    /// The sessions of this user have ended, or the roles of the user have changed.
    case user(UserID)
    /// The same for all users.
    case all
    /// The keys have changed.
    case keys
    /// Stored files were changed or deleted.
    case files
    /// Functions or hooks have changed.
    case functions

    /// Returns nil for a notification about another application's sessions.
    init?(_ event: PostgresNotificationEvent, of schema: SQLIdentifier) {
        switch event {
        case .connected: self = .listening(again: false)
        case .reconnected: self = .listening(again: true)
        // Cached sessions are read again after a second in any case.
        case .silent: self = .all
        case .notification(_, let payload, _):
            let prefix = "\(schema.name)/"
            if payload.hasPrefix(prefix) {
                self.init(text: payload.dropFirst(prefix.count))
            } else if payload.contains("/") {
                return nil
            } else {
                // Sent by hand, for every application.
                self = .all
            }
        }
    }

    /// Reads `token:<64 hexadecimal digits>`, `user:<id>`, `keys`, `files`, `functions` or `all`; anything else counts as `all`, which is safe.
    private init(text: Substring) {
        // PostgreSQL writes lowercase digits, so others are not from PostgreSQL.
        if text.hasPrefix("token:"), let hash = Hexadecimal.bytes(text.utf8.dropFirst(6)), hash.count == 32,
            Hexadecimal.text(hash) == text.dropFirst(6)
        {
            self = .token(hash: hash)
        } else if text.hasPrefix("user:") {
            self = .user(UserID(String(text.dropFirst(5))))
        } else if text == "keys" {
            self = .keys
        } else if text == "files" {
            self = .files
        } else if text == "functions" {
            self = .functions
        } else {
            self = .all
        }
    }
}

extension SessionTable {
    /// Returns the changes of sessions from now on, by any process. The sequence ends when the database client shuts down.
    package func notices() async throws -> some AsyncSequence<SessionNotice, Never> & Sendable {
        let schema = store.schema
        let channel = try await store.channel(of: .session)
        return store.client.listen(channel).compactMap { SessionNotice($0, of: schema) }
    }
}
