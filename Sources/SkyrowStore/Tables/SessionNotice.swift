internal import SkyrowJSON
package import SkyrowModel
internal import SkyrowPostgres

/// What the database says about sessions, on the channel `skyrow_session`.
package enum SessionNotice: Hashable, Sendable {
    /// Notices are heard from now on; with `again`, after an interruption that may have swallowed some.
    case listening(again: Bool)
    /// The session of the token with this hash has ended.
    case token(hash: [UInt8])
    /// The sessions of this user have ended, or the user has other roles now.
    case user(UserID)
    /// The same for every user.
    case all

    init(_ event: PostgresNotificationEvent) {
        switch event {
        case .connected: self = .listening(again: false)
        case .reconnected: self = .listening(again: true)
        // What is remembered is looked up again after a second in any case.
        case .silent: self = .all
        case .notification(_, let payload, _): self.init(payload: payload)
        }
    }

    /// Reads `token:<64 hexadecimal digits>`, `user:<id>` or `all`; anything else is taken as `all`, the safe side.
    init(payload: String) {
        // PostgreSQL writes lowercase digits, so that other ones are not its own.
        if payload.hasPrefix("token:"), let hash = Hexadecimal.bytes(payload.utf8.dropFirst(6)), hash.count == 32,
            Hexadecimal.text(hash) == payload.dropFirst(6)
        {
            self = .token(hash: hash)
        } else if payload.hasPrefix("user:") {
            self = .user(UserID(String(payload.dropFirst(5))))
        } else {
            self = .all
        }
    }
}

extension SessionTable {
    /// The changes of sessions from now on, by any process; ends when the database client shuts down.
    package func notices() -> some AsyncSequence<SessionNotice, Never> & Sendable {
        store.client.listen("skyrow_session").map { SessionNotice($0) }
    }
}
