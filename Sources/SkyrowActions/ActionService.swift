package import Logging
package import Metrics
import ServiceLifecycle
package import SkyrowModel
import SkyrowProtocol
import SkyrowRemote
package import SkyrowStore
import Synchronization

/// The actions of the service: each checks its caller, decides, and calls the store.
///
/// An endpoint runs the call of a request by an ``ActionRunner``; in the process an action is run by its description:
///
/// ```swift
/// let added = try await service.run(Actions.roleAdd, RoleChange(role: "editor", users: ["ann"]), Call(by: caller))
/// ```
///
/// Every method throws `SkyrowError` for a request that failed as a whole. The owners of the store and the database client call
/// their `run()`.
package final class ActionService: Service, Sendable {
    package let configuration: ServiceConfiguration
    package let store: RecordStore
    /// The application whose records the service has.
    package let application: ApplicationName
    let clock: ServiceClock
    let currentKeys: Mutex<AccessKeys>
    let keyKnowledge = Mutex(KeyKnowledge())
    let accesses = RecordAccessCache()
    let sessions: Mutex<SessionCache>
    let sessionUses: Mutex<SessionUses>
    let passwords: PasswordHasher
    /// The providers whose assertions users log in with, with their keys.
    let providers: [OpenIDProvider]
    let auditLog = Mutex(AuditLog())
    /// The number of rows with counted guesses at the last sweep.
    let throttleRows = Atomic(0)
    /// The number of valid sessions at the last count.
    let liveSessions = Atomic(0)
    /// The number of queued mails at the last count.
    let waitingMails = Atomic(0)
    /// The number of unfinished account deletions at the last count.
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
    /// The files of the application; nil without a storage for them.
    let files: FileState?
    /// The functions and hooks of the application.
    package let functions: FunctionState
    let hookState = HookState()
    /// The open files of all applications of the process.
    let fileCache: FileCache

    /// - Parameters:
    ///   - shared: the capacity that all applications of a process share; nil for a separate one.
    ///   - metrics: the factory of the metrics.
    ///   - observe: handles observations; nil logs and counts them.
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
        let fileCache = shared.files
        self.fileCache = fileCache
        files = configuration.files.map { FileState($0, fileCache, now: clock.now) }
        functions = FunctionState(
            runner: configuration.functions?.runner,
            servers: configuration.functions?.servers ?? [],
            timeout: configuration.functionTimeout
        )
        live = LiveDispatcher(configuration.live, store: store, clock: clock, links: files?.links, observe: observe)
    }

    var keys: AccessKeys { currentKeys.withLock { $0 } }

    /// Replaces the keys whose hashes are in the database.
    package func accept(_ keys: [ApplicationKey]) {
        currentKeys.withLock { $0 = $0.storing(keys) }
    }

    /// Returns the kind of a key: the API key, the master key, one with scopes, or not a key of this application.
    func kind(of key: String) -> AccessKeys.Kind {
        keys.kind(of: key, at: clock.now())
    }

    /// Listens for ended sessions and purges expired data until the task is cancelled or the service group shuts down.
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
                group.addTask { await self.prepareFiles() }
                group.addTask { await self.keepFilesPeriodically() }
                group.addTask { await self.keepFunctions() }
                group.addTask { await self.sendFunctionEvents() }
            }
        }
        files?.forget()
    }

    /// Ends the requests that wait for changes, since the service shuts down.
    package func endWaits() {
        feedWaiting.end()
    }

    /// Runs an action, and emits its outcome.
    func observed<Success>(
        _ action: ActionDescription,
        _ body: () async throws(SkyrowError) -> Success
    ) async throws(SkyrowError) -> Success {
        do {
            let success = try await body()
            noteSuccess(of: action)
            return success
        } catch {
            noteFailure(error, of: action)
            throw error
        }
    }

    func noteSuccess(of action: ActionDescription) {
        if action.effect != .reads { feedWaiting.noteWrite() }
        observe(.completed(action.name, nil))
        live.noteWrite()
    }

    func noteFailure(_ error: SkyrowError, of action: ActionDescription) {
        observe(.completed(action.name, error.code))
        if let layer = AccessLayer(error) { observe(.accessDenied(layer)) }
    }
}

/// The capacity that the applications of a process share, so that several use no more of the machine than one.
package struct SharedCapacity: Sendable {
    let passwords: PasswordHasher
    let reads: ReadQueues
    let files: FileCache

    /// - Parameter observe: handles observations about passwords.
    init(
        _ configuration: ServiceConfiguration,
        clock: ServiceClock = .system,
        observe: @escaping @Sendable (Observation) -> Void
    ) {
        passwords = PasswordHasher(configuration.passwords, instant: clock.instant, observe: observe)
        reads = ReadQueues(configuration.reads)
        files = FileCache(capacity: configuration.fileCacheSize)
    }

    /// The capacity of an application, to be shared with others.
    package init(of actions: ActionService) {
        passwords = actions.passwords
        reads = actions.reads
        files = actions.fileCache
    }
}
