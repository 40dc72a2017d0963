package import Logging
import ServiceLifecycle
import SkyrowConcurrency
package import SkyrowModel
package import SkyrowStore
import SkyrowSystem
import Synchronization

/// The applications of a service: which one a request is for, and its actions, which are made ready when the first
/// request comes and put to rest when none has come for long.
///
/// ```swift
/// let found = try applications.find(key: key, host: host)
/// ```
///
/// The default application is opened at the start and stays open.
package final class Applications: Service, Sendable {
    /// An application that is open.
    package struct Opened: Sendable {
        package let actions: ActionService
        /// The settings that it has of its own, by their names.
        package let settings: [String: String]
        /// Keeps its caches fresh; nil until it is run.
        var upkeep: Task<Void, Never>?

        package init(actions: ActionService, settings: [String: String] = [:]) {
            self.actions = actions
            self.settings = settings
        }
    }

    /// What a request finds.
    package enum Found: Sendable {
        case open(ActionService)
        /// It has to wait for ``Applications/open(_:)``.
        case resting(ApplicationName)
    }

    private struct State {
        var table = ApplicationTable()
        var registered: [ApplicationName: RegisteredApplication] = [:]
        var states = ApplicationStates<Opened>()
        /// Those that wait, for the same opening of an application.
        var openings: [ApplicationName: Deferred<Void>] = [:]
    }

    private let registry: ApplicationRegistry
    private let make: @Sendable (RegisteredApplication?) async throws -> Opened
    private let clock: ServiceClock
    private let logger: Logger
    private let state = Mutex(State())
    /// Read before anything else, so that a service of one application pays for no others.
    private let hasOthers = Atomic(false)
    private let standard = SharedReference<ActionService>()

    /// - Parameter make: brings the database of an application up to date and makes its actions; of the default one for
    ///   nil.
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

    /// One application, which is open.
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

    /// The application that a request is for.
    ///
    /// Throws `103 AccessKeyNotAccepted` for a key that has expired or is of another application than the host, and for an
    /// application that is disabled.
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

    /// The actions of an application, which is opened if it rests; those who come meanwhile wait for the same opening.
    ///
    /// Throws `135 Overloaded` when the database cannot be reached, and `10000 UnexpectedError` for what the log says.
    package func open(_ name: ApplicationName) async throws(SkyrowError) -> ActionService {
        while true {
            switch step(for: name) {
            case .use(let actions): return actions
            case .fail(let error): throw error
            // The opening goes on when the request that began it goes away: others wait for it.
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

    /// Opens an application, and lets those go on that wait for it, the request that began it among them.
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

    /// The default application once it was opened.
    package var `default`: ActionService? { standard.load() }

    /// Those that are open, by name.
    package var allOpen: [(name: ApplicationName, opened: Opened)] { state.withLock { $0.states.open } }

    /// Whether a request would find a database.
    package var isReady: Bool { registry.isReady }

    /// How many reads and writes wait for locks that others hold, while connections are kept for the rest.
    package var heldBack: (reads: Int, writes: Int) { registry.heldBack }

    /// Whether the text is the master key of the default application, which is the operator's.
    package func isMasterKey(_ text: String) -> Bool { standard.load()?.isMasterKey(text) ?? false }

    // MARK: Keeping up

    /// Opens the default application and reads which others there are.
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

    /// Follows what operators change of the applications, and puts to rest those that are not asked; until the task is
    /// cancelled.
    package func run() async throws {
        await cancelWhenGracefulShutdown { [self] in
            // One reading at a time, so that none overwrites what a later one found; changes that come meanwhile cause one
            // further reading.
            let (signals, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
            await withDiscardingTaskGroup { group in
                group.addTask {
                    for await _ in signals {
                        await self.reloadOrLog()
                        // Every role of the database can send the notice, as often as it likes.
                        try? await ServiceTimer.sleep(for: .milliseconds(100))
                    }
                }
                group.addTask { for await _ in self.registry.changes() { continuation.yield() } }
                // An application that rests has its indexes built too.
                group.addTask {
                    await self.registry.indexBuilder {
                        self.state.withLock { $0.registered.values.map(\.schema) }
                    }.run()
                }
                group.addTask {
                    // Changes of which nothing was heard, as behind a pooler.
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
            // A database that is away says so elsewhere.
        } catch {
            logger.warning("The applications could not be read again", metadata: ["error": "\(error.message)"])
        }
    }

    /// Reads the applications again; those that are gone, disabled or set otherwise are closed.
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

    /// Whether an application that is open is still as it was when it was opened, but for its keys.
    private func isSame(_ opened: Opened, _ now: RegisteredApplication?) async throws(SkyrowError) -> Bool {
        guard let now, !now.isDisabled, now.schema == opened.actions.store.schema else { return false }
        do {
            return try await registry.settings(of: now.schema) == opened.settings
        } catch  where error.code == .notSupported {
            // Its tables are gone.
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
