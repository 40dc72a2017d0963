import CoreMetrics
import Logging
import SkyrowActions
import SkyrowConcurrency
import SkyrowHTTP
import SkyrowModel
import SkyrowProtocol
import SkyrowRemote
import SkyrowSystem
import Synchronization
import Tracing

/// A function server: its state, its registration, and its calls.
final class FunctionServer: Sendable {
    /// Stores a registration; throws what is wrong with it.
    typealias Register = @Sendable (String, FunctionRegistration) async throws(SkyrowError) -> Void

    /// The result of asking a process for its registration.
    enum Initialization: Hashable, Sendable {
        case ready
        case refused(String)
        case failed(String)
    }

    /// What all servers have in common.
    struct Options: Sendable {
        var timeout: Duration = .seconds(10)
        var hookTimeout: Duration = .seconds(5)
        var concurrency = 16
        var queue = 256
        var isDevelopment = false
        /// The schema of the records.
        var schema = "app"
        /// The parameter of the events at the start.
        var configuration: JSONText?
    }

    private struct State {
        /// The process that answers calls.
        var connection: FunctionConnection?
        var shown = FunctionServerState.starting
        /// When it last answered.
        var lastHeard = ContinuousClock.now
        /// Whether it should be asked for its registration at once.
        var isDue = true
        /// Whether it may be a process that has not had the events of the start.
        var isNew = true
        /// The registration that is stored.
        var registration: FunctionRegistration?
        /// Whether all servers were ready once.
        var areAllReady = false
    }

    /// Between two attempts to reach it.
    static let pause: Duration = .seconds(2)
    /// After how long without an answer it is asked for its registration.
    static let silence: Duration = .seconds(60)

    let plan: FunctionServerPlan
    let logger: Logger
    /// Settled when it is ready for the first time.
    let hasBeenReady = Deferred<Void>()
    let figures: FunctionMetrics.ServerMetrics
    private let options: Options
    private let reserved: Set<String>
    private let slots: CallSlots
    private let metrics: FunctionMetrics
    private let state = Mutex(State())
    private let waits = WaitingTasks<OneKey>()

    /// - Parameter connection: The server, if it runs elsewhere.
    init(
        _ plan: FunctionServerPlan,
        _ options: Options,
        at connection: FunctionConnection?,
        metrics: FunctionMetrics,
        logger: Logger
    ) {
        self.plan = plan
        self.options = options
        self.metrics = metrics
        var logger = logger
        logger[metadataKey: "function_server"] = .string(plan.name)
        self.logger = logger
        figures = metrics.ofServer(plan.name)
        reserved = ActionTable.reservedNames.subtracting(plan.overrides)
        slots = CallSlots(concurrency: plan.concurrency ?? options.concurrency, queue: options.queue)
        state.withLock { $0.connection = connection }
        figures.up.record(0)
        figures.slots.record(0)
    }

    // MARK: State

    var current: FunctionServerState { state.withLock(\.shown) }

    func show(_ new: FunctionServerState) {
        let old = state.withLock { exchange(&$0.shown, with: new) }
        guard old != new else { return }
        figures.up.record(new == .ready ? 1 : 0)
        switch new {
        case .ready:
            logger.notice("A function server is ready")
            hasBeenReady.settle()
        case .starting: logger.info("A function server starts")
        case .down, .refused: warn()
        }
    }

    /// Says in the log why calls fail, if they do.
    func warn() {
        switch current {
        case .ready: break
        case .starting: logger.warning("A function server has not started yet")
        case .down(let reason): logger.warning("A function server is down", metadata: ["reason": .string(reason)])
        case .refused(let reason):
            logger.error("The registration of a function server is refused", metadata: ["reason": .string(reason)])
        }
    }

    /// Passes calls to this process from now on, which has been initialized.
    func use(_ connection: FunctionConnection) {
        state.withLock { state in
            state.connection = connection
            state.lastHeard = .now
            state.isDue = false
            state.isNew = false
        }
        show(.ready)
        waits.wake()
    }

    // MARK: Calls

    /// Calls the server; see `FunctionRunner`.
    func answer(
        _ call: FunctionCall,
        deadline: ContinuousClock.Instant?,
        links: (any AssetLinks)?
    ) async throws(SkyrowError) -> FunctionAnswer {
        let begin = ContinuousClock.now
        let longest = time(of: call)
        let end = begin + min(longest, deadline.map { $0 - begin } ?? longest)
        do throws(SkyrowError) {
            let answer = try await attempt(call, until: end, links)
            metrics.count(call, nil, begin.duration(to: .now))
            return answer
        } catch {
            metrics.count(call, error.code, begin.duration(to: .now))
            throw error
        }
    }

    private func time(of call: FunctionCall) -> Duration {
        let longest =
            if case .hook = call.content {
                min(options.hookTimeout, plan.timeout ?? options.hookTimeout)
            } else {
                plan.timeout ?? options.timeout
            }
        return min(longest, call.timeout ?? longest)
    }

    private func attempt(
        _ call: FunctionCall,
        until end: ContinuousClock.Instant,
        _ links: (any AssetLinks)?
    ) async throws(SkyrowError) -> FunctionAnswer {
        // A call that fails in any case does not wait.
        if let error = CallFailure.error(current) { throw error }
        let patience = (end - .now) / 2
        guard patience > .zero else { throw CallFailure.error(.late) }
        let client = try await slots.enter(for: call.context, within: patience)
        figures.slots.record(slots.counts.running)
        defer {
            slots.leave(client)
            figures.slots.record(slots.counts.running)
        }
        let connection = try begin()
        defer { connection.end() }
        let dialect = connection.dialect
        let left = end - .now
        let response: [UInt8]
        do throws(FunctionFault) {
            response = try await connection.client.response(
                to: FunctionEnvelope(dialect).text(of: call, time: left, links: links),
                requestID: call.context.requestID,
                traceParent: ServiceContext.current?.spanOrigin?.span.description,
                within: left
            )
        } catch {
            throw failed(call, error, on: connection)
        }
        state.withLock { $0.lastHeard = .now }
        do throws(FunctionFailure) {
            return try read(response, call, dialect)
        } catch {
            throw shown(error, call)
        }
    }

    /// Reads a response; throws the error that it has, as the function server says it.
    private func read(
        _ response: [UInt8],
        _ call: FunctionCall,
        _ dialect: FunctionDialect
    ) throws(FunctionFailure) -> FunctionAnswer {
        let answer = response.withUnsafeBytes { bytes in
            Result { () throws(FunctionFailure) in try FunctionEnvelope(dialect).read(bytes, to: call) }
        }
        return try answer.get()
    }

    /// Returns the process for a call, which has begun with it and must `end`.
    private func begin() throws(SkyrowError) -> FunctionConnection {
        let (connection, current) = state.withLock { state in
            if state.shown == .ready { state.connection?.begin() }
            return (state.connection, state.shown)
        }
        if let error = CallFailure.error(current) { throw error }
        guard let connection else { throw CallFailure.error(.unreachable("")) }
        return connection
    }

    /// Returns the error of a call without a response, and takes note of what it says about the server.
    private func failed(
        _ call: FunctionCall,
        _ fault: FunctionFault,
        on connection: FunctionConnection
    ) -> SkyrowError {
        switch fault {
        case .unreachable(let reason): if suspect(connection, isNew: true) { show(.down(reason)) }
        case .lost: suspect(connection, isNew: false)
        case .tooLarge, .unreadable:
            logger.error("A function server sent no answer", metadata: metadata(of: call, reason: fault.text))
        case .late, .cancelled: break
        }
        return CallFailure.error(fault, requestID: call.context.requestID)
    }

    /// Has a process asked for its registration; returns false for one that another has replaced.
    @discardableResult
    private func suspect(_ connection: FunctionConnection, isNew: Bool) -> Bool {
        let isCurrent = state.withLock { state in
            guard state.connection === connection else { return false }
            state.isDue = true
            state.isNew = state.isNew || isNew
            return true
        }
        waits.wake()
        return isCurrent
    }

    /// Returns the error that callers see, and logs what they do not.
    private func shown(_ failure: FunctionFailure, _ call: FunctionCall) -> SkyrowError {
        if failure.error.code == .unexpectedError {
            var details = metadata(of: call, reason: failure.detailed.message)
            if let trace = failure.trace { details["trace"] = .string(SlowStatementLog.shortened(trace)) }
            logger.error("A function failed", metadata: details)
        }
        return failure.shown(requestID: call.context.requestID, isDevelopment: options.isDevelopment)
    }

    private func metadata(of call: FunctionCall, reason: String) -> Logger.Metadata {
        var metadata: Logger.Metadata = [
            "function": .string(call.content.name), "kind": .string(call.content.kind),
            "reason": .string(SlowStatementLog.shortened(reason)),
        ]
        if let id = call.context.requestID { metadata["request_id"] = .string(id) }
        return metadata
    }

    // MARK: Registration

    /// Asks for the registration when it is due, until the task is cancelled: at once after a call that found nothing, and after
    /// a minute of silence.
    func follow(_ register: @escaping Register) async {
        while !Task.isCancelled {
            guard let time = dueTime else {
                await waits.wait(unless: { dueTime != nil })
                continue
            }
            guard time <= .now else {
                await waits.wait(
                    during: { try await ServiceTimer.sleep(until: time) },
                    unless: { dueTime.map { $0 <= .now } ?? true }
                )
                continue
            }
            await look(register)
        }
    }

    /// When it is asked for its registration; nil without a process.
    private var dueTime: ContinuousClock.Instant? {
        state.withLock { state in
            guard state.connection != nil else { return nil }
            return state.isDue ? .now : state.lastHeard + Self.silence
        }
    }

    private func look(_ register: Register) async {
        let (connection, isNew) = state.withLock { ($0.connection, $0.isNew) }
        guard let connection else { return }
        let outcome = await initialize(connection, isNew: isNew, register)
        let isCurrent = state.withLock { state in
            guard state.connection === connection else { return false }
            state.isDue = outcome != .ready
            state.isNew = outcome != .ready
            if outcome == .ready { state.lastHeard = .now }
            return true
        }
        guard isCurrent, !Task.isCancelled else { return }
        switch outcome {
        case .ready: return show(.ready)
        case .refused(let reason): show(.refused(reason))
        case .failed(let reason): show(.down(reason))
        }
        try? await ServiceTimer.sleep(for: Self.pause)
    }

    /// Asks a process for its registration and has it stored.
    ///
    /// - Parameter isNew: Whether the process gets the events of the start.
    func initialize(
        _ connection: FunctionConnection,
        isNew: Bool,
        _ register: Register
    ) async -> Initialization {
        let response: [UInt8]
        do throws(FunctionFault) {
            response = try await send("init", to: connection)
        } catch {
            return .failed(error.text)
        }
        let reserved = reserved
        let read = response.withUnsafeBytes { bytes in
            Result { () throws(RegistrationFault) in try FunctionRegistration(answer: bytes, reserved: reserved) }
        }
        let registration: FunctionRegistration
        switch read {
        case .success(let value): registration = value
        case .failure(let fault): return .refused(fault.description)
        }
        connection.dialect = registration.dialect
        if isNew {
            checkSchema(registration)
            await announce(["before-config"], of: registration, to: connection)
        }
        if state.withLock({ $0.registration != registration || $0.shown != .ready }) {
            do throws(SkyrowError) {
                try await register(plan.name, registration)
            } catch {
                // The database may be back in a moment.
                let isTransient = [.overloaded, .outcomeUnknown, .responseTimeout, .unexpectedError].contains(
                    error.code
                )
                return isTransient ? .failed(error.message) : .refused(error.message)
            }
            let former = state.withLock { exchange(&$0.registration, with: registration) }
            if former != registration { warn(ofReadHooksIn: registration) }
        }
        guard isNew else { return .ready }
        await announce(["after-config"], of: registration, to: connection)
        if state.withLock(\.areAllReady) { await announce(Self.eventsOfReadiness, of: registration, to: connection) }
        return .ready
    }

    /// Says in the log that hooks of py-skygear find no tables: it opens a connection to the schema `app_<name>` for each.
    private func checkSchema(_ registration: FunctionRegistration) {
        guard case .program = plan.place, registration.dialect == .skygear, !registration.hooks.isEmpty,
            !options.schema.hasPrefix("app_")
        else { return }
        logger.warning(
            "py-skygear looks for the records of its hooks in another schema: the setting schema should begin with app_",
            metadata: ["schema": .string(options.schema), "expected": .string("app_\(options.schema)")]
        )
    }

    /// Says in the log that hooks of reads protect nothing.
    private func warn(ofReadHooksIn registration: FunctionRegistration) {
        let hooks = registration.hooks.filter { $0.trigger == .beforeQuery || $0.trigger == .afterFetch }
        guard !hooks.isEmpty else { return }
        logger.warning(
            "A read hook is no access rule: included records, key paths, aggregates, live queries and the feed do not pass it",
            metadata: ["hooks": .string(hooks.prefix(10).map(\.name).joined(separator: ", "))]
        )
    }

    // MARK: Events

    private static let eventsOfReadiness = ["before-plugins-ready", "after-plugins-ready", "server-ready"]

    /// Sends the events after all servers have become ready, of which a later process gets its own.
    func announceReadiness() async {
        let (connection, registration) = state.withLock { state in
            state.areAllReady = true
            return (state.connection, state.registration)
        }
        guard let connection, let registration else { return }
        await announce(Self.eventsOfReadiness, of: registration, to: connection)
    }

    /// Sends events to a process that has registered them; what fails is logged.
    private func announce(
        _ events: [String],
        of registration: FunctionRegistration,
        to connection: FunctionConnection
    ) async {
        for event in events where registration.events.contains(event) {
            let call = eventCall(event)
            do throws(FunctionFault) {
                let response = try await send(event, to: connection)
                do throws(FunctionFailure) {
                    _ = try read(response, call, connection.dialect)
                } catch {
                    _ = shown(error, call)
                }
            } catch {
                logger.warning("An event was not delivered", metadata: metadata(of: call, reason: error.text))
            }
        }
    }

    private func eventCall(_ event: String) -> FunctionCall {
        FunctionCall(.event(event, options.configuration), of: plan.name, context: FunctionContext(depth: 0))
    }

    private func send(_ event: String, to connection: FunctionConnection) async throws(FunctionFault) -> [UInt8] {
        let time = plan.timeout ?? options.timeout
        let text = FunctionEnvelope(connection.dialect).text(of: eventCall(event), time: time, links: nil)
        return try await connection.client.response(to: text, within: time)
    }
}
