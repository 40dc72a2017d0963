import SkyrowModel
import SkyrowStore

/// Which applications are open, as a value: what is opened, shared and put to rest when, without a clock or a task of its
/// own.
struct ApplicationStates<Opened: Sendable>: Sendable {
    enum State: Sendable {
        /// With the count of the requests that wait for it; the number distinguishes it from an earlier opening.
        case opening(Int, waiting: Int)
        case open(Opened, lastUse: ContinuousClock.Instant)
        case failed(SkyrowError, at: ContinuousClock.Instant)
    }

    /// What a request that wants an application is to do.
    enum Step: Sendable {
        case use(Opened)
        /// Open it, and say how the opening of this number went.
        case open(Int)
        /// Another request opens it.
        case wait
        case fail(SkyrowError)
    }

    /// How long an application stays open without a request: longer than any limit by the hour counts.
    static var rest: Duration { .seconds(2 * 3600) }
    /// How long a failure to open is the answer to further requests.
    static var pause: Duration { .seconds(1) }
    /// How many requests wait for one application.
    static var maximumWaiting: Int { 256 }

    private var states: [ApplicationName: State] = [:]
    private var lastNumber = 0

    /// What a request is to do at that moment.
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

    /// The application if it is open at that moment; a request of it.
    mutating func openNow(_ name: ApplicationName, at now: ContinuousClock.Instant) -> Opened? {
        guard case .open(let opened, _) = states[name] else { return nil }
        states[name] = .open(opened, lastUse: now)
        return opened
    }

    /// A request waits no more, because it was cancelled.
    mutating func leave(_ name: ApplicationName) {
        guard case .opening(let number, let waiting) = states[name] else { return }
        states[name] = .opening(number, waiting: max(0, waiting - 1))
    }

    /// The opening has ended; false when the application was closed meanwhile, and `outcome` is of no use.
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

    /// Forgets an application, and returns what it had open; the next request opens it anew.
    mutating func close(_ name: ApplicationName) -> Opened? {
        guard case .open(let opened, _) = states.removeValue(forKey: name) else { return nil }
        return opened
    }

    /// The applications that have been without a request for too long, but for the default one.
    func resting(at now: ContinuousClock.Instant) -> [ApplicationName] {
        states.compactMap { name, state in
            guard name != .default, case .open(_, let lastUse) = state, now - lastUse >= Self.rest else { return nil }
            return name
        }
    }

    /// Those that are open, by name.
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
        "Too many requests wait for this application to be opened; try again in a moment."
    )
}
