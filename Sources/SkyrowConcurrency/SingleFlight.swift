internal import Synchronization

/// Work that is done once for all callers that ask for it at the same time. It has a separate task, so that the first caller may be
/// cancelled while others wait.
///
/// ```swift
/// await flight.join { await fetchKeys() }.value()
/// ```
package final class SingleFlight<Request: Sendable, Success: Sendable>: Sendable {
    private let plan = Mutex(FlightPlan<Request, Deferred<Success>>())

    package init() {}

    /// The outcome of work that begins from now on, together with what others ask for until then.
    ///
    /// - Parameters:
    ///   - unite: makes one request of two.
    ///   - work: does what was asked for, the same for all who ask.
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
    /// The outcome of the work that is being done, or of work that begins now.
    package func join(_ work: @escaping @Sendable () async -> Void) -> Deferred<Void> {
        let (outcome, begins) = plan.withLock { $0.join(Deferred()) }
        if begins { begin((), outcome) { _ in await work() } }
        return outcome
    }
}

/// What is being done, and what is done after it: as a value (``SingleFlight``).
struct FlightPlan<Request, Outcome> {
    private var current: Outcome?
    private var next: (request: Request, outcome: Outcome)?

    /// The outcome that one waits for who takes what is being done, and whether it has to begin.
    mutating func join(_ new: Outcome) -> (outcome: Outcome, begins: Bool) {
        if let current { return (current, false) }
        current = new
        return (new, true)
    }

    /// The outcome that one waits for whose request has to be seen when the work begins, and whether it has to begin.
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

    /// Ends what was being done; returns what begins now.
    mutating func end() -> (request: Request, outcome: Outcome)? {
        defer { next = nil }
        current = next?.outcome
        return next
    }
}
