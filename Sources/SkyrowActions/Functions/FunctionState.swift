import SkyrowModel
import SkyrowProtocol
import Synchronization

/// The functions of an application in this process: what is registered, and what calls it.
package final class FunctionState: Sendable {
    /// An event for the function servers that registered it.
    struct Event: Sendable {
        var name: String
        var parameter: JSONText?
    }

    private struct State {
        var registry: FunctionRegistry
        /// Counts replacements, so that a reading that began before one does not undo it.
        var epoch = 0
        var tokenKey: CallTokenKey?
    }

    /// Calls the function servers; nil without any.
    package let runner: (any FunctionRunner)?
    /// The names of the servers, in the order of the settings.
    let servers: [String]
    /// The longest time of a function of the database that has none of itself.
    let timeout: Duration
    /// Wakes the task that reads the registry again.
    let reloads = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    let events = AsyncStream.makeStream(of: Event.self, bufferingPolicy: .bufferingOldest(16))
    private let state: Mutex<State>
    private let statistics = Mutex(FunctionStatistics())
    /// A bit for each trigger that a hook has, and one for handlers, so that requests without them pay for one load.
    private let uses = Atomic<UInt>(0)
    /// The calls that a client has left of functions with a rate limit.
    private let buckets = Mutex(BucketTable<FunctionClient>(capacity: RateLimiter.capacity))

    private struct FunctionClient: Hashable {
        let function: FunctionName
        let client: ClientKey
    }

    package init(
        runner: (any FunctionRunner)?,
        servers: [String] = [],
        registry: FunctionRegistry = .empty,
        timeout: Duration = .seconds(10)
    ) {
        self.runner = runner
        self.servers = servers
        self.timeout = timeout
        state = Mutex(State(registry: registry))
        uses.store(registry.uses, ordering: .relaxed)
    }

    package var registry: FunctionRegistry { state.withLock { $0.registry } }

    /// Whether there is any HTTP handler.
    var hasHandlers: Bool { uses.load(ordering: .relaxed) & FunctionRegistry.handlerBit != 0 }

    /// Whether any hook has this trigger, on any type.
    func hasHooks(_ trigger: HookTrigger) -> Bool { uses.load(ordering: .relaxed) & trigger.bit != 0 }

    /// Replaces the registry, for calls and hooks from now on.
    package func replace(_ registry: FunctionRegistry) {
        change { _ in registry }
    }

    /// Replaces the registry by a change of it.
    func change(_ body: (FunctionRegistry) -> FunctionRegistry) {
        state.withLock { state in
            state.registry = body(state.registry)
            state.epoch += 1
            uses.store(state.registry.uses, ordering: .relaxed)
        }
    }

    var epoch: Int { state.withLock { $0.epoch } }

    /// Replaces the registry by one that was read, unless it was replaced since `epoch`; returns whether it was not.
    func replace(_ registry: FunctionRegistry, readIn epoch: Int) -> Bool {
        state.withLock { state in
            guard state.epoch == epoch else { return false }
            state.registry = registry
            uses.store(registry.uses, ordering: .relaxed)
            return true
        }
    }

    /// The key of call tokens; nil before it was read, and without function servers.
    var tokenKey: CallTokenKey? {
        get { state.withLock { $0.tokenKey } }
        set { state.withLock { $0.tokenKey = newValue } }
    }

    /// Has the registry read again.
    func reload() {
        reloads.continuation.yield()
    }

    // MARK: Calls

    /// Calls a function server, and counts the call.
    ///
    /// Throws what the runner throws, and `118 PluginUnavailable` without function servers.
    func call(_ call: FunctionCall, deadline: ContinuousClock.Instant?) async throws(SkyrowError) -> FunctionAnswer {
        guard let runner else { throw .functionServerMissing }
        return try await counting(FunctionStatistics.Key(call)) { () async throws(SkyrowError) in
            try await runner.call(call, deadline: deadline)
        }
    }

    /// Counts a call, with its time.
    func counting<Success>(
        _ key: FunctionStatistics.Key?,
        _ body: () async throws(SkyrowError) -> Success
    ) async throws(SkyrowError) -> Success {
        let start = ContinuousClock.now
        func note(failed: Bool) {
            guard let key else { return }
            statistics.withLock { $0.note(key, ContinuousClock.now - start, failed: failed) }
        }
        do throws(SkyrowError) {
            let success = try await body()
            note(failed: false)
            return success
        } catch {
            note(failed: true)
            throw error
        }
    }

    /// Takes a call of a function with a rate limit; throws `131 RateLimited` above it. The master key has no limit.
    func admit(_ function: FunctionDescription, _ call: Call, at now: ContinuousClock.Instant) throws(SkyrowError) {
        guard let count = function.rateLimit, count > 0, !call.caller.isMaster else { return }
        let client = FunctionClient(function: function.name, client: call.client)
        let wait = buckets.withLock { $0.take(client, RateLimit(count, per: .seconds(60)), at: now) }
        if let wait { throw RateLimiter.error(waiting: wait, of: .calls) }
    }

    func counts(of key: FunctionStatistics.Key) -> CallCounts { statistics.withLock { $0[key] } }
}

extension FunctionRegistry {
    fileprivate static let handlerBit: UInt = 1

    fileprivate var uses: UInt {
        HookTrigger.allCases.reduce(hasHandlers ? Self.handlerBit : 0) { hasHooks($1) ? $0 | $1.bit : $0 }
    }
}

extension HookTrigger {
    fileprivate var bit: UInt {
        switch self {
        case .beforeSave: 1 << 1
        case .afterSave: 1 << 2
        case .beforeDelete: 1 << 3
        case .afterDelete: 1 << 4
        case .beforeQuery: 1 << 5
        case .afterFetch: 1 << 6
        case .beforeLogin: 1 << 7
        case .afterLogin: 1 << 8
        case .afterLogout: 1 << 9
        }
    }
}

extension SkyrowError {
    static let functionServerMissing = SkyrowError(
        .pluginUnavailable,
        "The function server does not answer; try again in a moment."
    )
}
