import ServiceLifecycle
import SkyrowActions
import Synchronization

/// Opens the default application, lets the services that need it begin, and follows what changes of the applications.
struct ApplicationsService: Service {
    let applications: Applications
    let gate = StartGate()

    init(_ applications: Applications) {
        self.applications = applications
    }

    func run() async throws {
        defer { gate.settle(false) }
        try await applications.prepare()
        gate.settle(true)
        try await applications.run()
    }
}

/// A service that begins when the default application is open.
struct PreparedService: Service {
    private let base: any Service
    private let gate: StartGate

    init(_ base: any Service, after applications: ApplicationsService) {
        self.base = base
        gate = applications.gate
    }

    func run() async throws {
        guard await cancelWhenGracefulShutdown({ await gate.isOpen }) else {
            // The group is about to shut down, for a reason of its own.
            try? await gracefulShutdown()
            return
        }
        try await base.run()
    }
}

/// Something that several wait for, which happens or turns out not to.
final class StartGate: Sendable {
    private enum State {
        case open
        case closed
        case undecided(waiting: [AsyncStream<Bool>.Continuation])
    }

    private let state = Mutex(State.undecided(waiting: []))

    /// Says how it is; only the first word counts.
    func settle(_ isOpen: Bool) {
        let waiting = state.withLock { state -> [AsyncStream<Bool>.Continuation] in
            guard case .undecided(let waiting) = state else { return [] }
            state = isOpen ? .open : .closed
            return waiting
        }
        for continuation in waiting {
            continuation.yield(isOpen)
            continuation.finish()
        }
    }

    /// How it is, as soon as that is settled; false for a cancelled task.
    var isOpen: Bool {
        get async {
            let (stream, continuation) = AsyncStream.makeStream(of: Bool.self)
            let settled = state.withLock { state -> Bool? in
                switch state {
                case .open: return true
                case .closed: return false
                case .undecided(let waiting):
                    state = .undecided(waiting: waiting + [continuation])
                    return nil
                }
            }
            if let settled { return settled }
            for await isOpen in stream { return isOpen }
            return false
        }
    }
}
