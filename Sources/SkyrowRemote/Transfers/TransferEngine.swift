import CLibcurl
import SkyrowConcurrency
import SkyrowSystem
import Synchronization

/// Performs transfers of libcurl, all of them on one thread.
///
/// Transfers share connections: one to the same server is reused, and HTTP/2 carries several transfers at once. The thread
/// exists while there are transfers or connections to keep.
///
/// ```swift
/// let status = try await engine.perform(transfer)
/// ```
final class TransferEngine: Sendable {
    /// The bounds of an engine.
    struct Limits: Sendable {
        /// Upper bound on transfers under way, also of those that wait for a connection.
        var transfers = 256
        /// Upper bound on transfers under way to one server.
        var transfersOfServer = 64
        /// Upper bound on connections; kept ones are closed for others.
        var connections = 64
        /// Upper bound on connections to one server.
        var connectionsOfServer = 16
        /// How long connections are kept when there are no transfers.
        var idleTime: Duration = .seconds(60)
    }

    fileprivate typealias Ticket = UInt64

    private enum Order {
        case start(Ticket, Job)
        case resume(Ticket)
        case cancel(Ticket)
    }

    /// A transfer and the task that waits for it.
    fileprivate struct Job: Sendable {
        let transfer: any Transfer
        let outcome = Deferred<Result<Int?, CurlFault>>()
    }

    private struct State {
        var orders: [Order] = []
        /// Whether there is a thread, or one is about to start.
        var hasThread = false
        /// What wakes the thread, once it runs.
        var multi: CurlMulti?
        var nextTicket: Ticket = 0
        /// The number of transfers under way.
        var count = 0
        var countOfServer: [String: Int] = [:]
    }

    private let limits: Limits
    private let state = Mutex(State())

    init(_ limits: Limits = Limits()) {
        self.limits = limits
    }

    /// Whether there is a thread.
    var hasThread: Bool { state.withLock(\.hasThread) }
    /// The number of transfers under way.
    var count: Int { state.withLock(\.count) }

    /// Performs a transfer and returns the server's response code, if any.
    ///
    /// Cancelling the task ends the transfer. Throws ``CurlFault`` for a transfer that fails, and without starting it if
    /// too many are under way.
    func perform(_ transfer: any Transfer) async throws(CurlFault) -> Int? {
        // Loads libcurl.
        guard Libcurl.fault == nil else { throw .refused(CURLE_FAILED_INIT) }
        let job = Job(transfer: transfer)
        guard let ticket = submit(job) else { throw .busy }
        defer { leave(transfer.server) }
        return try await job.outcome.value { _ in self.order(.cancel(ticket)) }.get()
    }

    private func submit(_ job: Job) -> Ticket? {
        let server = job.transfer.server
        let ticket = state.withLock { state -> Ticket? in
            guard state.count < limits.transfers,
                state.countOfServer[server, default: 0] < limits.transfersOfServer
            else { return nil }
            state.count += 1
            state.countOfServer[server, default: 0] += 1
            state.nextTicket += 1
            return state.nextTicket
        }
        if let ticket {
            job.transfer.prepare { [weak self] in self?.resume(ticket) }
            order(.start(ticket, job))
        }
        return ticket
    }

    /// Continues a transfer that has paused; has no effect after its end.
    private func resume(_ ticket: Ticket) {
        state.withLock { state in
            guard state.hasThread else { return }
            state.orders.append(.resume(ticket))
            state.multi?.wake()
        }
    }

    private func leave(_ server: String) {
        state.withLock { state in
            state.count -= 1
            let left = state.countOfServer[server, default: 1] - 1
            state.countOfServer[server] = left > 0 ? left : nil
        }
    }

    private func order(_ order: Order) {
        let startsThread = state.withLock { state in
            state.orders.append(order)
            state.multi?.wake()
            defer { state.hasThread = true }
            return !state.hasThread
        }
        guard startsThread else { return }
        if DetachedThread.start(stackSize: 1 << 20, run) != 0 { giveUp(.noThread) }
    }

    /// Fails the transfers that no thread has taken.
    private func giveUp(_ fault: CurlFault) {
        let orders = state.withLock { state in
            state.hasThread = false
            return exchange(&state.orders, with: [])
        }
        for case .start(_, let job) in orders { job.outcome.settle(.failure(fault)) }
    }

    // MARK: The thread

    private func run() {
        guard let multi = CurlMulti() else { return giveUp(.refused(CURLE_OUT_OF_MEMORY)) }
        multi.set(CURLMOPT_MAX_TOTAL_CONNECTIONS, limits.connections)
        multi.set(CURLMOPT_MAX_HOST_CONNECTIONS, limits.connectionsOfServer)
        state.withLock { $0.multi = multi }
        var running = RunningTransfers(multi)
        repeat {
            for order in state.withLock({ exchange(&$0.orders, with: []) }) {
                switch order {
                case .start(let ticket, let job): running.start(ticket, job)
                case .resume(let ticket): running.resume(ticket)
                case .cancel(let ticket): running.cancel(ticket)
                }
            }
            running.perform()
            running.endLate()
            // libcurl returns earlier for its own timers.
            multi.wait(running.timeLeft ?? limits.idleTime)
            #if DEBUG
                Lateness.holdThread()
            #endif
        } while !running.isEmpty || !endsThread()
    }

    /// Returns whether the thread ends because it has nothing to do.
    private func endsThread() -> Bool {
        state.withLock { state in
            guard state.orders.isEmpty else { return false }
            state.hasThread = false
            state.multi = nil
            return true
        }
    }
}

/// The transfers of an engine's thread, which alone uses them.
private struct RunningTransfers {
    private final class Running {
        let job: TransferEngine.Job
        let deadline: ContinuousClock.Instant
        let context: TransferContext
        var handle: CurlHandle?

        init(_ job: TransferEngine.Job) throws(CurlFault) {
            self.job = job
            deadline = .now + job.transfer.timeout
            context = TransferContext(job.transfer)
            var handle = try CurlHandle()
            try job.transfer.setUp(&handle)
            try handle.setCallbacks(TransferCallbacks(), Unmanaged.passUnretained(context).toOpaque())
            self.handle = consume handle
        }
    }

    private let multi: CurlMulti
    private var transfers: [TransferEngine.Ticket: Running] = [:]
    private var tickets: [UnsafeMutableRawPointer: TransferEngine.Ticket] = [:]

    init(_ multi: CurlMulti) {
        self.multi = multi
    }

    var isEmpty: Bool { transfers.isEmpty }

    mutating func start(_ ticket: TransferEngine.Ticket, _ job: TransferEngine.Job) {
        do throws(CurlFault) {
            let running = try Running(job)
            guard let pointer = running.handle?.pointer, multi.add(pointer) else {
                throw .refused(CURLE_OUT_OF_MEMORY)
            }
            transfers[ticket] = running
            tickets[pointer] = ticket
        } catch {
            job.outcome.settle(.failure(error))
        }
    }

    /// Continues a transfer that has paused, unless it has ended.
    mutating func resume(_ ticket: TransferEngine.Ticket) {
        guard let running = transfers[ticket] else { return }
        do throws(CurlFault) {
            try running.handle?.resume()
        } catch {
            end(ticket) { _ in .failure(error) }
        }
    }

    /// Ends a transfer, unless it has ended.
    mutating func cancel(_ ticket: TransferEngine.Ticket) {
        end(ticket) { _ in .failure(.cancelled) }
    }

    /// Lets libcurl do what can be done without waiting.
    mutating func perform() {
        multi.perform()
        while let (pointer, code) = multi.nextEnded() {
            guard let ticket = tickets[pointer] else { continue }
            end(ticket) { response in
                code == CURLE_OK ? .success(response) : .failure(.failed(code, response: response))
            }
        }
    }

    /// Ends the transfers whose time is over. libcurl does not count the time in which one waits for a connection.
    mutating func endLate() {
        let now = ContinuousClock.now
        for (ticket, _) in transfers.filter({ $0.value.deadline <= now }) {
            end(ticket) { .failure(.failed(CURLE_OPERATION_TIMEDOUT, response: $0)) }
        }
    }

    /// The time until the first deadline, of a millisecond at least; nil without transfers.
    var timeLeft: Duration? {
        transfers.values.map(\.deadline).min().map { max(ContinuousClock.now.duration(to: $0), .milliseconds(1)) }
    }

    private mutating func end(_ ticket: TransferEngine.Ticket, _ result: (Int?) -> Result<Int?, CurlFault>) {
        guard let running = transfers.removeValue(forKey: ticket), let pointer = running.handle?.pointer else { return }
        tickets[pointer] = nil
        let result = result(running.handle?.response)
        multi.remove(pointer)
        // Closing a connection may call back, and the context must still exist.
        withExtendedLifetime(running.context) { running.handle = nil }
        running.job.outcome.settle(result)
    }
}
