internal import Logging
internal import Synchronization

/// The change streams of a client, each with its own thread.
final class ChangeStreamPool: Sendable {
    private struct State: Sendable {
        var workers: [ChangeWorker] = []
        var isDraining = false
    }

    private let configuration: PostgresConfiguration
    private let threads: ThreadGroup
    private let control: BackendControl
    private let logger: Logger
    private let state = Mutex(State())

    init(configuration: PostgresConfiguration, threads: ThreadGroup, control: BackendControl, logger: Logger) {
        self.configuration = configuration
        self.threads = threads
        self.control = control
        self.logger = logger
    }

    func open(publication: SQLIdentifier) throws(PostgresError) -> ChangeWorker {
        let worker = ChangeWorker(
            configuration: configuration,
            publication: publication,
            control: control,
            logger: logger
        )
        let isAdmitted = state.withLock { state in
            if !state.isDraining { state.workers.append(worker) }
            return !state.isDraining
        }
        guard isAdmitted else { throw PostgresError(code: .shutDown) }
        do throws(PostgresError) {
            try threads.start(named: "pg-changes") { [self] in
                worker.run()
                remove(worker)
            }
        } catch {
            remove(worker)
            throw error
        }
        return worker
    }

    /// The number of threads that stream or are about to end.
    var count: Int { state.withLock(\.workers.count) }

    private func remove(_ worker: ChangeWorker) {
        worker.stop()
        state.withLock { state in state.workers.removeAll { $0 === worker } }
    }

    /// Ends all streams. Their threads wait for nothing that this does not interrupt.
    func stop() {
        let workers = state.withLock { state in
            state.isDraining = true
            return state.workers
        }
        for worker in workers { worker.stop() }
    }
}
