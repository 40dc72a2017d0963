package import Logging
package import Metrics
import ServiceLifecycle
import SkyrowModel
package import SkyrowStore
import Synchronization

/// Every action of the service: it judges the caller, decides, and has the store perform.
///
/// An endpoint authenticates first, then calls the action's method:
///
/// ```swift
/// let caller = try await service.authenticate(credentials, for: ActionCatalog[.recordFetch].need)
/// let outcomes = try await service.fetch(request, by: caller)
/// ```
///
/// Every method throws `SkyrowError` for a request that failed as a whole. The store's and the database client's own
/// `run()` are their owners' affair.
package final class ActionService: Service, Sendable {
    package let configuration: ServiceConfiguration
    package let store: RecordStore
    let clock: ServiceClock
    let keys: AccessKeys
    let accessVariables = AccessVariablesCache()
    let sessions: Mutex<SessionCache>
    let sessionUses: Mutex<SessionUses>
    let passwords: PasswordHasher
    let guesses: Mutex<GuessLimiter>
    package let rateLimiter: RateLimiter
    package let reads: ReadAdmission
    let observe: @Sendable (Observation) -> Void

    /// - Parameters:
    ///   - metrics: where observations are counted.
    ///   - observe: what becomes of observations; logged and counted when missing.
    package init(
        store: RecordStore,
        configuration: ServiceConfiguration,
        clock: ServiceClock = .system,
        logger: Logger,
        metrics: any MetricsFactory = MetricsSystem.factory,
        observe: (@Sendable (Observation) -> Void)? = nil
    ) {
        let recorder = ObservationRecorder(logger: logger, factory: metrics)
        let observe = observe ?? { recorder.record($0) }
        self.store = store
        self.configuration = configuration
        self.clock = clock
        keys = AccessKeys(api: configuration.apiKey, master: configuration.masterKey)
        self.observe = observe
        sessions = Mutex(
            SessionCache(
                capacity: configuration.sessionCacheSize,
                freshness: min(configuration.sessionFreshness, .seconds(1))
            )
        )
        sessionUses = Mutex(SessionUses(capacity: max(configuration.sessionCacheSize, 1000)))
        passwords = PasswordHasher(configuration.passwords, instant: clock.instant, observe: observe)
        guesses = Mutex(GuessLimiter(configuration.passwords.guesses))
        rateLimiter = RateLimiter(configuration.rateLimits)
        reads = ReadAdmission(configuration.reads)
    }

    /// Listens for ended sessions and purges what has expired, until the task is cancelled or the service group shuts
    /// down.
    package func run() async throws {
        await cancelWhenGracefulShutdown { [self] in
            await withDiscardingTaskGroup { group in
                group.addTask { await self.listenForRevocations() }
                group.addTask { await self.purgePeriodically() }
                group.addTask { await self.recordUsesPeriodically() }
            }
        }
    }

    /// Whether a request would find a database.
    package var isReady: Bool { store.isReady }

    /// How many reads and writes wait for locks that others hold, while connections are kept for the rest.
    package var heldBack: (reads: Int, writes: Int) { store.heldBack }

    /// Runs an action and reports its end to the observer.
    func observed<Success>(
        _ action: ActionName,
        _ body: () async throws(SkyrowError) -> Success
    ) async throws(SkyrowError) -> Success {
        do {
            let success = try await body()
            observe(.completed(action, nil))
            return success
        } catch {
            observe(.completed(action, error.code))
            throw error
        }
    }
}
