package import Logging
import ServiceLifecycle
import SkyrowConcurrency
package import SkyrowModel
package import SkyrowStore
import SkyrowSystem
import Synchronization

/// The applications of a service: finds the one for a request, opens it on its first request, and closes it when it has been idle
/// for long.
///
/// ```swift
/// let found = try applications.find(key: key, host: host)
/// ```
///
/// The default application is opened at the start and stays open.
package final class Applications: Service, Sendable {
    /// An open application.
    package struct Opened: Sendable {
        package let actions: ActionService
        /// The application's own settings, by name.
        package let settings: [String: String]
        /// The task that keeps its caches fresh; nil until it runs.
        var upkeep: Task<Void, Never>?

        package init(actions: ActionService, settings: [String: String] = [:]) {
            self.actions = actions
            self.settings = settings
        }
    }

    /// The result of a lookup.
    package enum Found: Sendable {
        case open(ActionService)
        /// It is closed; the request has to wait for ``Applications/open(_:)``.
        case resting(ApplicationName)
    }

    private struct State {
        var table = ApplicationTable()
        var registered: [ApplicationName: RegisteredApplication] = [:]
        var states = ApplicationStates<Opened>()
        /// The callers that wait for an application to be opened.
        var openings: [ApplicationName: Deferred<Void>] = [:]
    }

    private let registry: ApplicationRegistry
    private let make: @Sendable (RegisteredApplication?) async throws -> Opened
    private let clock: ServiceClock
    private let logger: Logger
    private let state = Mutex(State())
    /// Read first, so that a service with one application skips the lookup.
    private let hasOthers = Atomic(false)
    private let standard = SharedReference<ActionService>()

    /// - Parameter make: migrates the database of an application and creates its actions; nil stands for the default one.
    package init(
        registry: ApplicationRegistry,
        clock: ServiceClock = .system,
        logger: Logger,
        make: @escaping @Sendable (RegisteredApplication?) async throws -> Opened
    ) {
        self.registry = registry
        self.clock = clock
        self.logger = logger
        self.make = make
    }

    /// A single application, which is open.
    package init(of actions: ActionService) {
        registry = ApplicationRegistry(
            client: actions.store.client,
            defaultSchema: actions.store.schema,
            logger: actions.store.logger
        )
        clock = .system
        logger = actions.store.logger
        make = { _ in Opened(actions: actions) }
        state.withLock { state in
            let now = ContinuousClock.now
            guard case .open(let number) = state.states.request(.default, at: now) else { return }
            _ = state.states.settle(.default, number, .success(Opened(actions: actions)), at: now)
        }
        _ = standard.storeIfNil(actions)
    }

    // MARK: Finding

    /// Returns the application that a request is for.
    ///
    /// Throws `103 AccessKeyNotAccepted` for a key that has expired or belongs to another application than the host, and for a
    /// disabled application.
    ///
    /// - Parameter host: the text of the `Host` field.
    package func find(key: String?, host: String?) throws(SkyrowError) -> Found {
        if !hasOthers.load(ordering: .acquiring), let actions = standard.load() { return .open(actions) }
        // The lock is not held while the key is hashed.
        let table = state.withLock { $0.table }
        let name = try table.application(key: key, host: host, at: clock.now())
        if name == .default, let actions = standard.load() { return .open(actions) }
        let opened = state.withLock { $0.states.openNow(name, at: clock.instant()) }
        return opened.map { .open($0.actions) } ?? .resting(name)
    }

    /// Returns the application of this name; nil if it does not exist.
    ///
    /// Throws `103 AccessKeyNotAccepted` for a disabled application.
    package func find(_ name: ApplicationName) throws(SkyrowError) -> Found? {
        if name == .default { return standard.load().map { .open($0) } }
        let (isDisabled, opened) = state.withLock { state in
            (state.registered[name]?.isDisabled, state.states.openNow(name, at: clock.instant()))
        }
        guard let isDisabled else { return nil }
        guard !isDisabled else { throw .applicationDisabled }
        return opened.map { .open($0.actions) } ?? .resting(name)
    }

    /// Returns the actions of an application, which it opens if necessary; concurrent callers wait for the same attempt.
    ///
    /// Throws `135 Overloaded` if the database is unreachable, and `10000 UnexpectedError` for other errors, which are logged.
    package func open(_ name: ApplicationName) async throws(SkyrowError) -> ActionService {
        while true {
            switch step(for: name) {
            case .use(let actions): return actions
            case .fail(let error): throw error
            // Opening continues if the request that started it is cancelled, since others wait for it.
            case .open(let number): Task { await open(name, number) }
            case .wait(let opening):
                await opening.value(ifCancelled: ())
                guard Task.isCancelled else { continue }
                state.withLock { if $0.openings[name] === opening { $0.states.leave(name) } }
                throw .notOpenedInTime
            }
        }
    }

    private enum Step {
        case use(ActionService)
        case fail(SkyrowError)
        case open(Int)
        case wait(Deferred<Void>)
    }

    private func step(for name: ApplicationName) -> Step {
        state.withLock { state in
            switch state.states.request(name, at: clock.instant()) {
            case .use(let opened): return .use(opened.actions)
            case .fail(let error): return .fail(error)
            case .open(let number): return .open(number)
            case .wait:
                let opening = state.openings[name] ?? Deferred()
                state.openings[name] = opening
                return .wait(opening)
            }
        }
    }

    /// Opens an application, and resumes the requests that wait for it, including the one that started it.
    private func open(_ name: ApplicationName, _ number: Int) async {
        let outcome = await opening(name)
        let (isOfUse, waiting) = state.withLock { state in
            (
                state.states.settle(name, number, outcome, at: clock.instant()),
                state.openings.removeValue(forKey: name)
            )
        }
        if !isOfUse, case .success(let opened) = outcome { opened.upkeep?.cancel() }
        waiting?.settle()
    }

    private func opening(_ name: ApplicationName) async -> Result<Opened, SkyrowError> {
        do {
            guard let registered = state.withLock({ $0.registered[name] }) else { throw SkyrowError.keyNotAccepted }
            var opened = try await make(registered)
            let actions = opened.actions
            actions.accept(registered.keys)
            opened.upkeep = Task { await Applications.keep(actions) }
            return .success(opened)
        } catch let error as SkyrowError {
            return .failure(error)
        } catch {
            logger.error(
                "An application could not be opened",
                metadata: ["application": "\(name)", "error": "\(error)"]
            )
            return .failure(SkyrowError(.unexpectedError, "The application could not be opened; the log says why."))
        }
    }

    private static func keep(_ actions: ActionService) async {
        await withDiscardingTaskGroup { group in
            group.addTask { await actions.store.run() }
            group.addTask { try? await actions.run() }
        }
    }

    // MARK: For the service as a whole

    /// The default application, once it is open.
    package var `default`: ActionService? { standard.load() }

    /// The open applications, sorted by name.
    package var allOpen: [(name: ApplicationName, opened: Opened)] { state.withLock { $0.states.open } }

    /// Whether the database is reachable.
    package var isReady: Bool { registry.isReady }

    /// The numbers of reads and writes that wait for locks of others, while connections are kept for the rest.
    package var heldBack: (reads: Int, writes: Int) { registry.heldBack }

    /// Returns whether the text is the master key of the default application, which belongs to the operator.
    package func isMasterKey(_ text: String) -> Bool { standard.load()?.isMasterKey(text) ?? false }

    // MARK: Keeping up

    /// Opens the default application and reads the other ones from the registry.
    ///
    /// Throws what `make` throws: `MigrationError`, `SkyrowError` or `PostgresError`.
    package func prepare() async throws {
        guard case .open(let number) = state.withLock({ $0.states.request(.default, at: clock.instant()) }) else {
            return
        }
        var opened = try await make(nil)
        let actions = opened.actions
        opened.upkeep = Task { await Applications.keep(actions) }
        _ = standard.storeIfNil(actions)
        state.withLock { _ = $0.states.settle(.default, number, .success(opened), at: clock.instant()) }
        try await reload()
    }

    /// Follows changes of the applications, and closes idle ones, until the task is cancelled.
    package func run() async throws {
        await cancelWhenGracefulShutdown { [self] in
            // One reload at a time, so that none overwrites the result of a later one; changes during a reload cause one further
            // reload.
            let (signals, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
            await withDiscardingTaskGroup { group in
                group.addTask {
                    for await _ in signals {
                        await self.reloadOrLog()
                        // Every role of the database can send the notification, at any rate.
                        try? await ServiceTimer.sleep(for: .milliseconds(100))
                    }
                }
                group.addTask { for await _ in self.registry.changes() { continuation.yield() } }
                // Indexes of closed applications are built, too.
                group.addTask {
                    await self.registry.indexBuilder {
                        self.state.withLock { $0.registered.values.map(\.schema) }
                    }.run()
                }
                group.addTask {
                    // Finds changes whose notification was lost, as behind a pooler.
                    while (try? await ServiceTimer.sleep(for: .seconds(10))) != nil {
                        continuation.yield()
                        self.putToRest()
                    }
                    continuation.finish()
                }
            }
        }
        for (_, opened) in allOpen { opened.upkeep?.cancel() }
        for (_, opened) in allOpen { await opened.upkeep?.value }
    }

    private func reloadOrLog() async {
        do throws(SkyrowError) {
            try await reload()
        } catch  where error.code == .overloaded || Task.isCancelled {
            // An unavailable database is reported elsewhere.
        } catch {
            logger.warning("The applications could not be reloaded", metadata: ["error": "\(error.message)"])
        }
    }

    /// Reads the applications again; it closes those that were removed, disabled, or have other settings.
    func reload() async throws(SkyrowError) {
        let found = try await registry.applications()
        let registered = Dictionary(found.map { ($0.name, $0) }) { first, _ in first }
        let table = ApplicationTable(found)
        state.withLock { state in
            state.table = table
            state.registered = registered
        }
        hasOthers.store(!table.isEmpty, ordering: .releasing)
        for (name, opened) in allOpen {
            opened.actions.accept(registered[name]?.keys ?? [])
            guard name != .default, try await !isSame(opened, registered[name]) else { continue }
            state.withLock { $0.states.close(name) }?.upkeep?.cancel()
        }
    }

    /// Returns whether an open application is unchanged since it was opened, apart from its keys.
    private func isSame(_ opened: Opened, _ now: RegisteredApplication?) async throws(SkyrowError) -> Bool {
        guard let now, !now.isDisabled, now.schema == opened.actions.store.schema else { return false }
        do {
            return try await registry.settings(of: now.schema) == opened.settings
        } catch  where error.code == .notSupported {
            // Its tables were dropped.
            return false
        }
    }

    private func putToRest() {
        let closed = state.withLock { state in
            state.states.resting(at: clock.instant()).compactMap { state.states.close($0) }
        }
        for opened in closed { opened.upkeep?.cancel() }
    }
}

extension SkyrowError {
    fileprivate static let notOpenedInTime = SkyrowError(
        .overloaded,
        "The application was not opened in time; try again in a moment."
    )
}
