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
        if payload.hasPrefix("token:"), let hash = SessionNotice.bytes(hexadecimal: payload.dropFirst(6)),
            hash.count == 32
        {
            self = .token(hash: hash)
        } else if payload.hasPrefix("user:") {
            self = .user(UserID(String(payload.dropFirst(5))))
        } else {
            self = .all
        }
    }

    private static func bytes(hexadecimal text: Substring) -> [UInt8]? {
        let digits = Array(text.utf8)
        guard digits.count.isMultiple(of: 2) else { return nil }
        var bytes: [UInt8] = []
        for index in stride(from: 0, to: digits.count, by: 2) {
            guard let high = value(digits[index]), let low = value(digits[index + 1]) else { return nil }
            bytes.append(high << 4 | low)
        }
        return bytes
    }

    private static func value(_ digit: UInt8) -> UInt8? {
        switch digit {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
        default: nil
        }
    }
}

extension SessionTable {
    /// The changes of sessions from now on, by any process; ends when the database client shuts down.
    package func notices() -> some AsyncSequence<SessionNotice, Never> & Sendable {
        store.client.listen("skyrow_session").map { SessionNotice($0) }
    }
}
