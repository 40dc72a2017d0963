import Dispatch
import SkyrowModel
import Synchronization

/// Hashes passwords on threads of its own, a bounded number of them at a time.
///
/// One hash is a fifth of a second of work by design, which must neither hold up the threads that answer requests nor
/// queue without end.
final class PasswordHasher: Sendable {
    private let configuration: PasswordConfiguration
    private let lanes: [DispatchQueue]
    /// How many hashes wait or run on each lane.
    private let loads: Mutex<[Int]>
    private let observe: @Sendable (Observation) -> Void
    /// What an unknown user's password is compared with, so that the answer costs the same.
    private let decoy: PasswordHash

    init(_ configuration: PasswordConfiguration, observe: @escaping @Sendable (Observation) -> Void) {
        let laneCount = max(1, configuration.threads)
        self.configuration = configuration
        self.observe = observe
        lanes = (0..<laneCount).map { DispatchQueue(label: "skyrow.passwords.\($0)") }
        loads = Mutex(Array(repeating: 0, count: laneCount))
        // Its output is no password's: 32 zero bytes are as likely as any other, and nobody knows their preimage.
        decoy = PasswordHash(
            cost: configuration.cost,
            salt: Array(repeating: 0, count: PasswordHash.saltByteCount),
            output: Array(repeating: 0, count: PasswordHash.outputByteCount)
        )
    }

    /// How many hashes run or wait to be run.
    var waiting: Int { loads.withLock { $0.reduce(0, +) } }

    /// The outcome of comparing a password.
    enum Verdict: Equatable, Sendable {
        case wrong
        case right
        /// Right, and this is the text to store from now on because the configured cost has grown.
        case rightAndRehashed(String)

        var isRight: Bool {
            switch self {
            case .wrong: false
            case .right, .rightAndRehashed: true
            }
        }
    }

    /// The text to store for a new password.
    ///
    /// Throws `135 Overloaded` when too many hashes wait already.
    func hash(_ password: String) async throws(SkyrowError) -> String {
        let cost = configuration.cost
        let bytes = Array(password.utf8)
        return try await run { [observe] in
            observe(.passwordHashed)
            var generator = SystemRandomNumberGenerator()
            return try PasswordHash(password: bytes, cost: cost, using: &generator).text
        }
    }

    /// Compares a password with a stored text; with none, or one that cannot be read, it does the same work and answers
    /// `wrong`.
    ///
    /// Throws `135 Overloaded` when too many hashes wait already.
    ///
    /// - Parameter replacingWeak: whether a right password whose hash is of a lower cost is hashed anew.
    func verify(
        _ password: String,
        against stored: String?,
        replacingWeak: Bool = true
    ) async throws(SkyrowError) -> Verdict {
        let cost = configuration.cost
        let known = stored.flatMap { PasswordHash($0) }
        let hash = known ?? decoy
        let bytes = Array(password.utf8)
        return try await run { [observe] in
            observe(.passwordHashed)
            guard try hash.matches(password: bytes), known != nil else { return .wrong }
            guard replacingWeak, hash.cost.isWeaker(than: cost) else { return .right }
            observe(.passwordHashed)
            var generator = SystemRandomNumberGenerator()
            return .rightAndRehashed(try PasswordHash(password: bytes, cost: cost, using: &generator).text)
        }
    }

    private func run<Success: Sendable>(
        _ work: @escaping @Sendable () throws -> Success
    ) async throws(SkyrowError) -> Success {
        guard let lane = takeLane() else {
            observe(.passwordQueueFull)
            throw SkyrowError(.overloaded, "Too many passwords are being checked; try again in a few seconds.")
        }
        let cancelled = Cancellation()
        let result: Result<Success, any Error> = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                lanes[lane].async {
                    // Nobody waits for the answer of a cancelled request, so its turn goes to the next.
                    let result: Result<Success, any Error> =
                        cancelled.isSet
                        ? .failure(CancellationError())
                        : Result(catching: work)
                    self.loads.withLock { $0[lane] -= 1 }
                    continuation.resume(returning: result)
                }
            }
        } onCancel: {
            cancelled.set()
        }
        switch result {
        case .success(let value):
            return value
        case .failure(is CancellationError):
            throw SkyrowError(.responseTimeout, "The request was given up before its password was checked.")
        case .failure:
            throw SkyrowError(.unexpectedError, "The password could not be hashed.")
        }
    }

    /// Counts a hash on the lane with the least to do; nil when the queue is full.
    private func takeLane() -> Int? {
        loads.withLock { loads in
            guard loads.reduce(0, +) < configuration.queueLimit + loads.count,
                let lane = loads.indices.min(by: { loads[$0] < loads[$1] })
            else { return nil }
            loads[lane] += 1
            return lane
        }
    }
}

/// A flag that a cancelled task raises for the thread that works for it.
private final class Cancellation: Sendable {
    private let flag = Atomic(false)

    var isSet: Bool { flag.load(ordering: .acquiring) }

    func set() {
        flag.store(true, ordering: .releasing)
    }
}
