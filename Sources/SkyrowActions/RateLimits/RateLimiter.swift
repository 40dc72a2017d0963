package import SkyrowModel
package import SkyrowProtocol
import Synchronization

/// Counts calls and refuses those above a limit; the master key has no limit.
package final class RateLimiter: Sendable {
    private struct State {
        var limits: RateLimits
        var clients = ClientBuckets()
        var users = BucketTable<UserID>(capacity: RateLimiter.capacity)
        var logins = ClientBuckets()
    }

    /// The number of buckets of each kind, of some 60 bytes each.
    static let capacity = 32_768

    private let state: Mutex<State>
    /// Read first, so that a service without limits skips the lock.
    private let isOn: Atomic<Bool>

    init(_ limits: RateLimits) {
        state = Mutex(State(limits: limits))
        isOn = Atomic(!limits.isOff)
    }

    /// The current limits; a kind whose limit changes starts with full buckets.
    package var limits: RateLimits {
        get { state.withLock { $0.limits } }
        set {
            state.withLock { state in
                if state.limits.client != newValue.client { state.clients.removeAll() }
                if state.limits.user != newValue.user { state.users.removeAll() }
                if state.limits.login != newValue.login { state.logins.removeAll() }
                state.limits = newValue
            }
            isOn.store(!newValue.isOff, ordering: .releasing)
        }
    }

    /// Counts a call of a client, and of the user if already known; throws `131 RateLimited`.
    ///
    /// - Parameter action: nil for a call without a valid action.
    func admit(
        _ action: ActionDescription?,
        from client: ClientKey,
        by caller: Caller?,
        at now: @autoclosure () -> ContinuousClock.Instant
    ) throws(SkyrowError) {
        guard isOn.load(ordering: .acquiring), caller?.isOperator != true else { return }
        let now = now()
        let hashesPassword = action?.cost == .password
        let refusal = state.withLock { state -> (wait: Duration, limited: Limited)? in
            if let limit = state.limits.client, let wait = state.clients.take(client, limit, at: now) {
                return (wait, .calls)
            }
            if hashesPassword, let limit = state.limits.login, let wait = state.logins.take(client, limit, at: now) {
                return (wait, Limited(hashingFor: action?.name))
            }
            if let user = caller?.userID, let limit = state.limits.user,
                let wait = state.users.take(user, limit, at: now)
            {
                return (wait, .calls)
            }
            return nil
        }
        if let refusal { throw RateLimiter.error(waiting: refusal.wait, of: refusal.limited) }
    }

    /// Counts a call of a user who was not known before; throws `131 RateLimited`.
    func admit(_ caller: Caller, at now: @autoclosure () -> ContinuousClock.Instant) throws(SkyrowError) {
        guard isOn.load(ordering: .acquiring), !caller.isOperator, let user = caller.userID else { return }
        let now = now()
        let wait = state.withLock { state in state.limits.user.flatMap { state.users.take(user, $0, at: now) } }
        if let wait { throw RateLimiter.error(waiting: wait, of: .calls) }
    }

    /// Whether there is any limit.
    var limitsAnything: Bool { isOn.load(ordering: .acquiring) }

    /// What is limited, in the words of a message.
    enum Limited: String, Sendable {
        case calls
        case logIns = "login attempts"
        case signUps = "sign-ups"
        /// Attempts with passwords and codes.
        case attempts

        /// The kind of a call that hashes a password.
        init(hashingFor action: ActionName?) {
            switch action {
            case Actions.authLogIn.name: self = .logIns
            case Actions.authSignUp.name, Actions.authRegister.name: self = .signUps
            default: self = .attempts
            }
        }
    }

    static func error(waiting wait: Duration, of limited: Limited) -> SkyrowError {
        let (seconds, attoseconds) = wait.components
        let rounded = max(1, attoseconds > 0 ? seconds + 1 : seconds)
        return SkyrowError(
            .rateLimited,
            "Too many \(limited.rawValue); try again in \(rounded) second\(rounded == 1 ? "" : "s").",
            info: ["retry_after": .integer(rounded)]
        )
    }
}

extension ActionService {
    /// Counts a call before its parameters are read; throws `131 RateLimited` above the limit.
    ///
    /// A refusal is not observed, as with `cachedCaller`.
    ///
    /// - Parameter caller: nil if not known yet; `admit(_:)` then counts the user's call.
    package func admit(_ action: ActionDescription, from client: ClientKey, by caller: Caller?) throws(SkyrowError) {
        try rateLimiter.admit(action, from: client, by: caller, at: clock.instant())
    }

    /// Counts a request without a valid action, or one that was refused before its action was known; throws `131 RateLimited`
    /// above the limit.
    package func admit(_ credentials: Credentials, from client: ClientKey) throws(SkyrowError) {
        guard rateLimiter.limitsAnything else { return }
        if let key = credentials.key, credentials.admitsMasterKey, isMasterKey(key) { return }
        try rateLimiter.admit(nil, from: client, by: nil, at: clock.instant())
    }

    /// Counts a call of a user who was found only in the database; throws `131 RateLimited` above the limit.
    package func admit(_ caller: Caller) throws(SkyrowError) {
        do {
            try rateLimiter.admit(caller, at: clock.instant())
        } catch {
            noteRefusal(error)
            throw error
        }
    }
}
