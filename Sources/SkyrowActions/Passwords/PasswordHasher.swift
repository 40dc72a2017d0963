import SkyrowConcurrency
import SkyrowCrypto
import SkyrowModel
import Synchronization

/// Hashes passwords on separate threads, which clients share fairly (``PasswordQueue``).
///
/// A hash takes a quarter of a second by design. It must neither delay the threads that serve requests nor queue without a bound.
final class PasswordHasher: Sendable {
    private typealias Ticket = PasswordQueue.Ticket

    /// The callbacks of a queued password.
    private struct Job: Sendable {
        let begin: @Sendable (PasswordQueue.Ticket) -> Void
        let refuse: @Sendable (Failure) -> Void
    }

    private enum Failure: Error {
        case refused(PasswordQueue.Refusal)
        case cancelled
        case noThread
        case library
        case breached
        case list(BreachedPasswords.Failure)

        init(_ error: any Error) {
            switch error {
            case is Breached: self = .breached
            case let failure as BreachedPasswords.Failure: self = .list(failure)
            default: self = .library
            }
        }
    }

    /// The password is in the list of breached ones.
    private struct Breached: Error {}

    private struct State {
        var queue: PasswordQueue
        /// The waiting jobs.
        var jobs: [Ticket: Job] = [:]
    }

    private let configuration: PasswordConfiguration
    private let threads: LowPriorityThreads
    private let state: Mutex<State>
    private let observe: @Sendable (Observation) -> Void
    private let instant: @Sendable () -> ContinuousClock.Instant
    /// The hash for an unknown user's password, so that the result costs the same.
    private let decoy: PasswordHash

    init(
        _ configuration: PasswordConfiguration,
        instant: @escaping @Sendable () -> ContinuousClock.Instant = { .now },
        observe: @escaping @Sendable (Observation) -> Void
    ) {
        let threadCount = max(1, configuration.threads)
        self.configuration = configuration
        self.observe = observe
        self.instant = instant
        threads = LowPriorityThreads(limit: threadCount, name: "passwords")
        let limits = PasswordQueue.Limits(
            running: threadCount,
            waiting: configuration.queueLimit,
            waitingByClient: configuration.queueShare,
            patience: configuration.patience
        )
        state = Mutex(State(queue: PasswordQueue(limits)))
        // No known password has this output: 32 zero bytes are as likely as any other, and their preimage is unknown.
        decoy = PasswordHash(
            cost: configuration.cost,
            salt: Array(repeating: 0, count: PasswordHash.saltByteCount),
            output: Array(repeating: 0, count: PasswordHash.outputByteCount),
            isComposed: true
        )
    }

    /// The number of running and waiting hashes.
    var waiting: Int {
        state.withLock { state in
            PasswordQueue.Purpose.allCases.reduce(state.queue.runningCount) { $0 + state.queue.waitingCount($1) }
        }
    }

    /// The outcome of verifying a password.
    enum Verdict: Equatable, Sendable {
        case wrong
        case right
        /// Right, with the text to store from now on because the configured cost has grown.
        case rightAndRehashed(String)

        var isRight: Bool {
            switch self {
            case .wrong: false
            case .right, .rightAndRehashed: true
            }
        }
    }

    /// Returns the text to store for a new password.
    ///
    /// Throws `126 PasswordPolicyViolated` if it is in the list of breached passwords, `135 Overloaded` if too many hashes are
    /// waiting, and `131 RateLimited` if too many of the client are.
    func hash(
        _ password: String,
        for purpose: PasswordQueue.Purpose = .logIn,
        from client: ClientKey = .none
    ) async throws(SkyrowError) -> String {
        let cost = configuration.cost
        let breached = configuration.breached
        return try await run(purpose, client, nil) { [observe] in
            // Reading the list blocks, which is acceptable on this thread.
            if try breached?.contains(password) == true { throw Breached() }
            observe(.passwordHashed)
            let begin = ContinuousClock.now
            defer { observe(.passwordTimed(ContinuousClock.now - begin)) }
            return try Self.text(of: password, cost)
        }
    }

    private static func text(of password: String, _ cost: ScryptCost) throws -> String {
        var bytes = password.composedUTF8
        defer { bytes.cleanse() }
        var generator = SystemRandomNumberGenerator()
        return try PasswordHash(password: bytes, cost: cost, using: &generator).text
    }

    /// Verifies a password against a stored text; without one, or with an unreadable one, it does the same work and returns
    /// `wrong`.
    ///
    /// Throws `135 Overloaded` if too many hashes are waiting, and `131 RateLimited` if too many of the client are.
    ///
    /// - Parameters:
    ///   - account: the account whose passwords are verified one at a time.
    ///   - replacingWeak: whether a right password with a hash of a lower cost is hashed again.
    func verify(
        _ password: String,
        against stored: String?,
        of account: AccountKey? = nil,
        from client: ClientKey = .none,
        replacingWeak: Bool = true
    ) async throws(SkyrowError) -> Verdict {
        let cost = configuration.cost
        let known = stored.flatMap { StoredPassword($0) }
        let hash = known ?? .scrypt(decoy)
        return try await run(.logIn, client, account) { [observe] in
            observe(.passwordHashed)
            let begin = ContinuousClock.now
            defer { observe(.passwordTimed(ContinuousClock.now - begin)) }
            guard try hash.matches(password), known != nil else { return .wrong }
            guard replacingWeak, hash.isWeaker(than: cost) else { return .right }
            observe(.passwordHashed)
            return .rightAndRehashed(try Self.text(of: password, cost))
        }
    }

    // MARK: Waiting

    private func run<Success: Sendable>(
        _ purpose: PasswordQueue.Purpose,
        _ client: ClientKey,
        _ account: AccountKey?,
        _ work: @escaping @Sendable () throws -> Success
    ) async throws(SkyrowError) -> Success {
        guard !Task.isCancelled else { throw error(.cancelled) }
        let outcome = Deferred<Result<Success, Failure>>()
        let job = Job(
            begin: { ticket in
                let hasThread = self.threads.run {
                    let result = Result { try work() }.mapError { Failure($0) }
                    self.end(ticket)
                    outcome.settle(result)
                }
                guard !hasThread else { return }
                self.end(ticket)
                outcome.settle(.failure(.noThread))
            },
            refuse: { outcome.settle(.failure($0)) }
        )
        let ticket = enter(job, purpose, client, account)
        let result = await outcome.value { _ in
            // A cancelled request needs no result, so its slot goes to the next one.
            if let ticket { self.leave(ticket) }
        }
        switch result {
        case .success(let value): return value
        case .failure(let failure): throw error(failure)
        }
    }

    /// Returns the ticket if the job waits.
    private func enter(
        _ job: Job,
        _ purpose: PasswordQueue.Purpose,
        _ client: ClientKey,
        _ account: AccountKey?
    ) -> Ticket? {
        let (waiting, follows) = state.withLock { state -> (Ticket?, [@Sendable () -> Void]) in
            let (entry, step) = state.queue.enter(purpose, client: client, account: account, at: instant())
            var follows = take(step, from: &state)
            switch entry {
            case .begins(let ticket):
                follows.append { job.begin(ticket) }
            case .waits(let ticket):
                state.jobs[ticket] = job
                return (ticket, follows)
            case .refused(let reason):
                follows.append { job.refuse(.refused(reason)) }
            }
            return (nil, follows)
        }
        for follow in follows { follow() }
        return waiting
    }

    private func leave(_ ticket: Ticket) {
        let job = state.withLock { state in state.queue.leave(ticket) ? state.jobs.removeValue(forKey: ticket) : nil }
        job?.refuse(.cancelled)
    }

    private func end(_ ticket: Ticket) {
        let follows = state.withLock { state in take(state.queue.end(ticket, at: instant()), from: &state) }
        for follow in follows { follow() }
    }

    /// Returns the callbacks to run, outside the lock, for jobs whose wait is over.
    private func take(_ step: PasswordQueue.Step, from state: inout State) -> [@Sendable () -> Void] {
        var follows: [@Sendable () -> Void] = []
        for (ticket, reason) in step.refused {
            guard let job = state.jobs.removeValue(forKey: ticket) else { continue }
            follows.append { job.refuse(.refused(reason)) }
        }
        for ticket in step.begins {
            guard let job = state.jobs.removeValue(forKey: ticket) else { continue }
            follows.append { job.begin(ticket) }
        }
        return follows
    }

    private func error(_ failure: Failure) -> SkyrowError {
        switch failure {
        case .refused(.shareUsed):
            observe(.passwordQueueFull)
            return RateLimiter.error(waiting: .seconds(1), of: .attempts)
        case .refused(.full), .refused(.displaced), .refused(.late), .noThread:
            observe(.passwordQueueFull)
            return SkyrowError(.overloaded, "Too many passwords are being checked; try again in a few seconds.")
        case .cancelled:
            return SkyrowError(.responseTimeout, "The request was cancelled before its password was checked.")
        case .library:
            return SkyrowError(.unexpectedError, "The password could not be hashed.")
        case .breached:
            return PasswordPolicy.Violation.breached.error
        case .list(let failure):
            observe(.breachedListFailed(failure.description))
            return SkyrowError(.unexpectedError, "The list of breached passwords could not be read.")
        }
    }
}
