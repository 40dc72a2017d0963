package import Logging
package import Metrics
import ServiceLifecycle
package import SkyrowModel
import SkyrowRemote
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
    /// The application that the records are of.
    package let application: ApplicationName
    let clock: ServiceClock
    let currentKeys: Mutex<AccessKeys>
    let keyKnowledge = Mutex(KeyKnowledge())
    let accesses = RecordAccessCache()
    let sessions: Mutex<SessionCache>
    let sessionUses: Mutex<SessionUses>
    let passwords: PasswordHasher
    /// By whose word users log in, with their keys.
    let providers: [OpenIDProvider]
    let auditLog = Mutex(AuditLog())
    /// How many rows guesses were counted in at the last sweep.
    let throttleRows = Atomic(0)
    /// How many sessions held at the last count.
    let liveSessions = Atomic(0)
    /// How many mails waited at the last count.
    let waitingMails = Atomic(0)
    /// How many deletions of accounts were not finished at the last count.
    let waitingDeletions = Atomic(0)
    /// Wakes the worker that sends mail.
    let mailSignals = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    package let rateLimiter: RateLimiter
    /// The requests that wait for changes.
    let feedWaiting: FeedWaiting
    package let reads: ReadQueues
    let observe: @Sendable (Observation) -> Void
    let live: LiveDispatcher
    let heldSessions = HeldSessions()

    /// - Parameters:
    ///   - shared: what all applications of a process have together; its own when nil.
    ///   - metrics: where observations are counted.
    ///   - observe: what becomes of observations; logged and counted when missing.
    package init(
        store: RecordStore,
        configuration: ServiceConfiguration,
        application: ApplicationName = .default,
        shared: SharedCapacity? = nil,
        clock: ServiceClock = .system,
        logger: Logger,
        metrics: any MetricsFactory = MetricsSystem.factory,
        observe: (@Sendable (Observation) -> Void)? = nil
    ) {
        let recorder = ObservationRecorder(of: application, logger: logger, factory: metrics)
        let observe = observe ?? { recorder.record($0) }
        self.store = store
        self.configuration = configuration
        self.clock = clock
        self.application = application
        currentKeys = Mutex(AccessKeys(given: configuration.keys))
        self.observe = observe
        sessions = Mutex(
            SessionCache(
                capacity: configuration.sessionCacheSize,
                freshness: min(configuration.sessionFreshness, .seconds(1))
            )
        )
        sessionUses = Mutex(SessionUses(capacity: max(configuration.sessionCacheSize, 1000)))
        let shared = shared ?? SharedCapacity(configuration, clock: clock, observe: observe)
        passwords = shared.passwords
        providers = configuration.providers.map { provider in
            OpenIDProvider(provider, instant: clock.instant) { failure in
                observe(.providerKeysFetched(provider.name, failure: failure?.description))
            } report: { failure in
                observe(.signInFailed(provider.name, reason: failure.description))
            }
        }
        reads = shared.reads
        rateLimiter = RateLimiter(configuration.rateLimits)
        feedWaiting = FeedWaiting(limit: configuration.feedWaiting, share: configuration.reads.share)
        live = LiveDispatcher(configuration.live, store: store, clock: clock, observe: observe)
    }

    var keys: AccessKeys { currentKeys.withLock { $0 } }

    /// Takes the keys that the database has the hashes of, in place of those that it had before.
    package func accept(_ keys: [ApplicationKey]) {
        currentKeys.withLock { $0 = $0.storing(keys) }
    }

    /// Whether the key is the API key, the master key, or none of this application's.
    func kind(of key: String) -> AccessKeys.Kind {
        keys.kind(of: key, at: clock.now())
    }

    /// Listens for ended sessions and purges what has expired, until the task is cancelled or the service group shuts
    /// down.
    package func run() async throws {
        await cancelWhenGracefulShutdown { [self] in
            await withDiscardingTaskGroup { group in
                group.addTask { await self.listenForRevocations() }
                group.addTask { await self.purgePeriodically() }
                group.addTask { await self.recordUsesPeriodically() }
                group.addTask { await self.sweepGuessesPeriodically() }
                group.addTask { await self.storeAuditPeriodically() }
                group.addTask { await self.sendMailPeriodically() }
                group.addTask { await self.deleteAccountsPeriodically() }
                group.addTask { await self.feedWaiting.run(on: self.store) }
                group.addTask { await self.sweepFeedPeriodically() }
                group.addTask { await self.live.run(self) }
                group.addTask { await self.heldSessions.run(self) }
            }
        }
    }

    /// Has the requests that wait for changes respond at once, since the service shuts down.
    package func endWaits() {
        feedWaiting.end()
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
            if ActionCatalog[action].changesData { feedWaiting.noteWrite() }
            observe(.completed(action, nil))
            live.noteWrite()
            return success
        } catch {
            observe(.completed(action, error.code))
            if let layer = AccessLayer(error) { observe(.accessDenied(layer)) }
            throw error
        }
    }
}

/// What the applications of a process have together, so that many of them take no more of the machine than one.
package struct SharedCapacity: Sendable {
    let passwords: PasswordHasher
    let reads: ReadQueues

    /// - Parameter observe: what becomes of observations about passwords.
    init(
        _ configuration: ServiceConfiguration,
        clock: ServiceClock = .system,
        observe: @escaping @Sendable (Observation) -> Void
    ) {
        passwords = PasswordHasher(configuration.passwords, instant: clock.instant, observe: observe)
        reads = ReadQueues(configuration.reads)
    }

    /// That of an application, for others.
    package init(of actions: ActionService) {
        passwords = actions.passwords
        reads = actions.reads
    }
}
