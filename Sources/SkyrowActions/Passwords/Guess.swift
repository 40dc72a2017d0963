import SkyrowModel
import SkyrowStore
import Synchronization

/// A password that is tried: for which account, and by which client.
struct Guess: Sendable {
    let account: AccountKey
    let client: ClientKey
}

extension ActionService {
    /// Compares a password with that of an account, if there is one, after it was counted.
    ///
    /// Throws `131 RateLimited` when it is one too many, and what `find` throws; then no password was compared, and none
    /// is counted.
    ///
    /// - Parameter find: looks the account up; an unknown one costs as much as a known one.
    func judge(
        _ password: String,
        _ guess: Guess,
        replacingWeak: Bool = true,
        find: () async throws(SkyrowError) -> AccountCredentials?
    ) async throws(SkyrowError) -> (AccountCredentials?, PasswordHasher.Verdict) {
        if let wait = guesses.withLock({ $0.claim(guess.account, from: guess.client, at: clock.instant()) }) {
            throw RateLimiter.error(waiting: wait, isLogin: true)
        }
        do throws(SkyrowError) {
            let credentials = try await find()
            let verdict = try await passwords.verify(
                password,
                against: credentials?.passwordHash,
                of: guess.account,
                from: guess.client,
                replacingWeak: replacingWeak
            )
            if credentials != nil, verdict.isRight {
                guesses.withLock { $0.succeed(guess.account, from: guess.client, at: clock.instant()) }
            }
            return (credentials, verdict)
        } catch {
            guesses.withLock { $0.withdraw(guess.account, from: guess.client, at: clock.instant()) }
            throw error
        }
    }
}
