import SkyrowConcurrency
import SkyrowSystem
import Synchronization

/// Finds verdicts without the lock of live queries: at once what takes a moment, and on a separate thread what takes longer.
///
/// The tasks of all requests share a few threads, so nothing that clients can make long runs on them.
final class LiveJudging: Sendable {
    /// What is judged on the thread that asks: some 100 µs.
    private static let stepsAtOnce = 10_000
    /// How long to wait before a thread is asked for again, where the system has given none.
    private static let pause: Duration = .milliseconds(100)

    private let allowances: Mutex<StepAllowances>
    private let thread = LowPriorityThreads(limit: 1, name: "live queries")

    init(_ limits: StepAllowances.Limits) {
        allowances = Mutex(StepAllowances(limits))
    }

    /// The verdicts with those that were missing, or with refusals.
    func judge(_ verdicts: LiveVerdicts) async -> LiveVerdicts {
        var verdicts = verdicts
        if judge(&verdicts, atMost: Self.stepsAtOnce) { return verdicts }
        while !Task.isCancelled {
            let asked = verdicts
            let found = Deferred<LiveVerdicts>()
            let isTaken = thread.run {
                var verdicts = asked
                _ = self.judge(&verdicts, atMost: .max)
                found.settle(verdicts)
            }
            if isTaken { return await found.value(ifCancelled: asked) }
            _ = try? await ServiceTimer.sleep(for: Self.pause)
        }
        return verdicts
    }

    private func judge(_ verdicts: inout LiveVerdicts, atMost steps: Int) -> Bool {
        let clients = verdicts.clients
        let (before, limit) = allowances.withLock { allowances in
            (clients.map { allowances.balance(of: $0, at: .now) }, allowances.limits.perRecord)
        }
        var balances = before
        defer {
            allowances.withLock { allowances in
                for (place, client) in clients.enumerated() {
                    allowances.spend(before[place] - balances[place], of: client, at: .now)
                }
            }
        }
        return verdicts.judge(&balances, limit: limit, atMost: steps)
    }
}
