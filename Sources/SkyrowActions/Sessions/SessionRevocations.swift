import SkyrowModel
import SkyrowPostgres
import SkyrowStore
import Synchronization

/// What a notice on the channel `skyrow_session` says: whose sessions must be looked up again.
enum SessionNotice: Equatable {
    case token(TokenHash)
    case user(UserID)
    case all

    /// Reads `token:<64 hexadecimal digits>`, `user:<id>` or `all`; whatever else comes is taken as `all`, the safe side.
    init(payload: String) {
        if payload.hasPrefix("token:"), let hash = TokenHash(hexadecimal: payload.dropFirst(6)) {
            self = .token(hash)
        } else if payload.hasPrefix("user:") {
            self = .user(UserID(payload.dropFirst(5)))
        } else {
            self = .all
        }
    }
}

extension ActionService {
    /// Forgets sessions as other processes, this one or somebody in psql end or change them.
    func listenForRevocations() async {
        for await event in store.client.listen("skyrow_session") {
            switch event {
            case .connected:
                forget(.all)
                observe(.listening(again: false))
            case .reconnected:
                // What was said meanwhile was missed.
                forget(.all)
                observe(.listening(again: true))
            case .notification(_, let payload, _):
                forget(SessionNotice(payload: payload))
            }
        }
    }

    func forget(_ notice: SessionNotice) {
        switch notice {
        case .token(let hash):
            sessions.withLock { $0.remove(hash) }
            observe(.sessionsForgotten(.token))
        case .user(let user):
            sessions.withLock { $0.removeSessions(of: [user]) }
            observe(.sessionsForgotten(.users(1)))
        case .all:
            sessions.withLock { $0.removeAll() }
            observe(.sessionsForgotten(.all))
        }
    }

    /// Removes what has expired, at once and then every ten minutes.
    func purgePeriodically() async {
        while !Task.isCancelled {
            await purge()
            do {
                try await clock.sleep(.seconds(600))
            } catch {
                return
            }
        }
    }

    func purge() async {
    }
}
