import SkyrowModel
import SkyrowStore
import Synchronization

/// An attempt to guess a password, with its account and client.
struct Guess: Sendable {
    let account: AccountKey
    let client: ClientKey
    /// What the guess is counted by; nil for clients without an address, as behind a proxy that sends none: they cannot be
    /// distinguished, and a limit would lock out all of them.
    let source: GuessSource?
    let accounts: [GuessSource.Account]

    /// - Parameter logIn: the login keys and their values.
    init(logIn values: [FieldName: String], from client: ClientKey, device: SessionDevice) {
        account = AccountKey(logIn: values)
        self.client = client
        accounts = values.sorted { $0.key < $1.key }.map {
            GuessSource.Account(key: $0.key.rawValue, value: $0.value)
        }
        source = client == .none ? nil : GuessSource(accounts: accounts, client: client.bytes, deviceID: device.id)
    }

    /// - Parameter user: the user whose password is changed.
    init(user: UserID, from client: ClientKey) {
        account = AccountKey(user: user)
        self.client = client
        accounts = [GuessSource.Account(key: "_id", value: user.rawValue)]
        source = client == .none ? nil : GuessSource(accounts: accounts, client: client.bytes)
    }
}

extension ClientKey {
    /// Both halves in big-endian order.
    var bytes: [UInt8] {
        [high, low].flatMap { half in (0..<8).map { UInt8(truncatingIfNeeded: half >> (56 - 8 * UInt64($0))) } }
    }
}

extension ActionService {
    /// Verifies a password against that of an account, if there is one, after the guess was counted.
    ///
    /// Throws `131 RateLimited` after too many guesses, and what `find` throws; then no password was verified, and the guess does
    /// not count.
    ///
    /// - Parameter find: looks the account up; an unknown one costs as much as a known one.
    func judge(
        _ password: String,
        _ guess: Guess,
        replacingWeak: Bool = true,
        find: () async throws(SkyrowError) -> AccountCredentials?
    ) async throws(SkyrowError) -> (AccountCredentials?, PasswordHasher.Verdict) {
        let claim = try await claim(guess.source)
        do throws(SkyrowError) {
            let credentials = try await find()
            let verdict = try await passwords.verify(
                password,
                against: credentials?.passwordHash,
                of: guess.account,
                from: guess.client,
                replacingWeak: replacingWeak
            )
            if let claim, let credentials, verdict.isRight {
                // The login succeeds without it; then the guess counts.
                try? await store.throttle.succeed(claim, by: credentials.id)
            }
            return (credentials, verdict)
        } catch {
            if let claim { try? await store.throttle.withdraw(claim) }
            throw error
        }
    }

    /// Counts a guess; returns nil if guesses of the source are not limited.
    func claim(_ source: GuessSource?) async throws(SkyrowError) -> GuessClaim? {
        guard let source else { return nil }
        switch try await store.throttle.claim(source, configuration.passwords.guesses) {
        case .claimed(let claim): return claim
        case .refused(let wait):
            observe(.guessRefused)
            throw RateLimiter.error(waiting: wait, of: .attempts)
        }
    }

    /// Sweeps the counted guesses, and counts the sessions, every minute.
    func sweepGuessesPeriodically() async {
        while (try? await clock.sleep(.seconds(60))) != nil { await sweepGuesses() }
    }

    func sweepGuesses() async {
        do throws(SkyrowError) {
            throttleRows.store(try await store.throttle.sweep(), ordering: .relaxed)
            liveSessions.store(try await store.sessions.count(), ordering: .relaxed)
        } catch {
            observe(.purgeFailed(error.description))
        }
    }
}
