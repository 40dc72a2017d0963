import SkyrowModel
import SkyrowStore

/// The states of applications as a value: decides when each is opened, shared and closed, without a clock or a task.
struct ApplicationStates<Opened: Sendable>: Sendable {
    enum State: Sendable {
        /// Being opened, with the number of waiting requests; the first number distinguishes this attempt from earlier ones.
        case opening(Int, waiting: Int)
        case open(Opened, lastUse: ContinuousClock.Instant)
        case failed(SkyrowError, at: ContinuousClock.Instant)
    }

    /// The next step of a request for an application.
    enum Step: Sendable {
        case use(Opened)
        /// Open it, and report the outcome with this number.
        case open(Int)
        /// Wait for another request that opens it.
        case wait
        case fail(SkyrowError)
    }

    /// How long an application stays open without a request: longer than the window of any hourly limit.
    static var rest: Duration { .seconds(2 * 3600) }
    /// How long a failure to open is returned to further requests.
    static var pause: Duration { .seconds(1) }
    /// Upper bound on the requests that wait for one application.
    static var maximumWaiting: Int { 256 }

    private var states: [ApplicationName: State] = [:]
    private var lastNumber = 0

    /// Returns the next step of a request.
    mutating func request(_ name: ApplicationName, at now: ContinuousClock.Instant) -> Step {
        switch states[name] {
        case .open(let opened, _):
            states[name] = .open(opened, lastUse: now)
            return .use(opened)
        case .opening(let number, let waiting):
            guard waiting < Self.maximumWaiting else { return .fail(.tooManyWaitForApplication) }
            states[name] = .opening(number, waiting: waiting + 1)
            return .wait
        case .failed(let error, let moment) where now - moment < Self.pause:
            return .fail(error)
        case .failed, nil:
            lastNumber += 1
            states[name] = .opening(lastNumber, waiting: 0)
            return .open(lastNumber)
        }
    }

    /// Returns the application if it is open, and counts a use.
    mutating func openNow(_ name: ApplicationName, at now: ContinuousClock.Instant) -> Opened? {
        guard case .open(let opened, _) = states[name] else { return nil }
        states[name] = .open(opened, lastUse: now)
        return opened
    }

    /// Notes that a waiting request was cancelled.
    mutating func leave(_ name: ApplicationName) {
        guard case .opening(let number, let waiting) = states[name] else { return }
        states[name] = .opening(number, waiting: max(0, waiting - 1))
    }

    /// Notes the outcome of an attempt to open; returns false if the application was closed meanwhile, so that `outcome` is
    /// unused.
    mutating func settle(
        _ name: ApplicationName,
        _ number: Int,
        _ outcome: Result<Opened, SkyrowError>,
        at now: ContinuousClock.Instant
    ) -> Bool {
        guard case .opening(number, _) = states[name] else { return false }
        switch outcome {
        case .success(let opened): states[name] = .open(opened, lastUse: now)
        case .failure(let error): states[name] = .failed(error, at: now)
        }
        return true
    }

    /// Forgets an application, and returns it if it was open; the next request opens it again.
    mutating func close(_ name: ApplicationName) -> Opened? {
        guard case .open(let opened, _) = states.removeValue(forKey: name) else { return nil }
        return opened
    }

    /// Returns the applications that have been idle for too long, except the default one.
    func resting(at now: ContinuousClock.Instant) -> [ApplicationName] {
        states.compactMap { name, state in
            guard name != .default, case .open(_, let lastUse) = state, now - lastUse >= Self.rest else { return nil }
            return name
        }
    }

    /// The open applications, sorted by name.
    var open: [(name: ApplicationName, opened: Opened)] {
        states.compactMap { name, state in
            guard case .open(let opened, _) = state else { return nil }
            return (name, opened)
        }.sorted { $0.name < $1.name }
    }
}

extension SkyrowError {
    static let tooManyWaitForApplication = SkyrowError(
        .overloaded,
        "Too many requests are waiting for this application to open; try again in a moment."
    )
}
