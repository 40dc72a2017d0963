internal import Synchronization

/// Work that runs once for all concurrent callers. It runs in a separate task, so
/// that the first caller may be cancelled while others wait.
///
/// ```swift
/// await flight.join { await fetchKeys() }.value()
/// ```
package final class SingleFlight<Request: Sendable, Success: Sendable>: Sendable {
    private let plan = Mutex(FlightPlan<Request, Deferred<Success>>())

    package init() {}

    /// Returns the outcome of work that begins from now on. Requests that arrive until it begins are united.
    ///
    /// - Parameters:
    ///   - unite: Merges two requests into one.
    ///   - work: Performs a request; the same for all callers.
    package func next(
        _ request: Request,
        uniting unite: @Sendable (Request, Request) -> Request,
        _ work: @escaping @Sendable (Request) async -> Success
    ) -> Deferred<Success> {
        let (outcome, begins) = plan.withLock { $0.follow(request, Deferred(), uniting: unite) }
        if begins { begin(request, outcome, work) }
        return outcome
    }

    private func begin(
        _ request: Request,
        _ outcome: Deferred<Success>,
        _ work: @escaping @Sendable (Request) async -> Success
    ) {
        Task {
            let success = await work(request)
            let next = plan.withLock { $0.end() }
            outcome.settle(success)
            if let next { begin(next.request, next.outcome, work) }
        }
    }
}

extension SingleFlight<Void, Void> {
    /// The outcome of the running work, or of work that begins now.
    package func join(_ work: @escaping @Sendable () async -> Void) -> Deferred<Void> {
        let (outcome, begins) = plan.withLock { $0.join(Deferred()) }
        if begins { begin((), outcome) { _ in await work() } }
        return outcome
    }
}

/// The running work and the work after it, as a value type (``SingleFlight``).
struct FlightPlan<Request, Outcome> {
    private var current: Outcome?
    private var next: (request: Request, outcome: Outcome)?

    /// Returns the outcome for a caller that may share the running work, and whether the work must be started.
    mutating func join(_ new: Outcome) -> (outcome: Outcome, begins: Bool) {
        if let current { return (current, false) }
        current = new
        return (new, true)
    }

    /// Returns the outcome for a caller whose request must precede the start of the work, and whether the work must be started.
    mutating func follow(
        _ request: Request,
        _ new: Outcome,
        uniting unite: (Request, Request) -> Request
    ) -> (outcome: Outcome, begins: Bool) {
        guard current != nil else { return join(new) }
        let outcome = next?.outcome ?? new
        next = (next.map { unite($0.request, request) } ?? request, outcome)
        return (outcome, false)
    }

    /// Ends the running work; returns the work that begins now.
    mutating func end() -> (request: Request, outcome: Outcome)? {
        defer { next = nil }
        current = next?.outcome
        return next
    }
}
