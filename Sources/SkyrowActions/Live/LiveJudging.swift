import SkyrowConcurrency
import SkyrowSystem
import Synchronization

/// Finds verdicts outside the lock of live queries: short work at once, longer work on a separate thread.
///
/// All requests share a few threads, so work whose length depends on clients must not run on them.
final class LiveJudging: Sendable {
    /// The steps that run on the calling thread: some 100 µs.
    private static let stepsAtOnce = 10_000
    /// The pause before the next attempt when the system could not create a thread.
    private static let pause: Duration = .milliseconds(100)

    private let allowances: Mutex<StepAllowances>
    private let thread = LowPriorityThreads(limit: 1, name: "live queries")

    init(_ limits: StepAllowances.Limits) {
        allowances = Mutex(StepAllowances(limits))
    }

    /// Returns the verdicts complete, or with refusals.
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
