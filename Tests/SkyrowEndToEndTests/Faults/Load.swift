import Foundation
import Synchronization

@testable import skyrow

/// Saves notes from several tasks until it is told to stop, and keeps what became of each.
final class Load: Sendable {
    struct Outcomes: Sendable {
        /// The ids of the notes whose saves were acknowledged.
        var acknowledged: Set<String> = []
        /// How often a save was answered with an error, by its code.
        var refusals: [Int: Int] = [:]
        /// What was no answer at all, such as the end of the connection.
        var losses: [String] = []

        var refused: Int { refusals.values.reduce(0, +) }
    }

    private struct State {
        var outcomes = Outcomes()
        var isStopping = false
        var waiting: [(isThere: @Sendable (Outcomes) -> Bool, continuation: CheckedContinuation<Void, Never>)] = []
    }

    private let state = Mutex(State())
    private let type: String
    private let content: String

    /// - Parameter size: how many bytes each note has beside its id.
    init(type: String = "note", size: Int = 0) {
        self.type = type
        content = String(repeating: "x", count: size)
    }

    /// Saves until ``stop()`` or the end of the service.
    func run(on service: RunningService, tasks: Int = 4) async {
        await withTaskGroup(of: Void.self) { group in
            for task in 0..<tasks {
                group.addTask { await self.save(on: service, task) }
            }
        }
    }

    private func save(on service: RunningService, _ task: Int) async {
        var number = 0
        while !state.withLock({ $0.isStopping }) {
            number += 1
            let id = "\(task)-\(number)"
            do {
                try await service.save("\(type)/\(id)", content: content)
                note { $0.acknowledged.insert(id) }
            } catch let failure as ServiceFailure {
                let code = failure.description.firstMatch(of: /"code":(-?\d+)/).flatMap { Int($0.1) }
                note { outcomes in
                    if let code {
                        outcomes.refusals[code, default: 0] += 1
                    } else {
                        outcomes.losses.append(failure.description)
                    }
                }
            } catch {
                if service.process.exitIfEnded != nil { return }
                note { $0.losses.append("\(error)") }
            }
        }
    }

    private func note(_ change: (inout Outcomes) -> Void) {
        let ready = state.withLock { state in
            change(&state.outcomes)
            let outcomes = state.outcomes
            let ready = state.waiting.filter { $0.isThere(outcomes) }
            state.waiting.removeAll { $0.isThere(outcomes) }
            return ready
        }
        for waiter in ready { waiter.continuation.resume() }
    }

    func stop() {
        state.withLock { $0.isStopping = true }
    }

    var outcomes: Outcomes { state.withLock { $0.outcomes } }
    var acknowledged: Set<String> { outcomes.acknowledged }

    /// Returns when so many more saves were acknowledged.
    func awaitProgress(_ count: Int) async {
        let goal = acknowledged.count + count
        await wait { $0.acknowledged.count >= goal }
    }

    /// Returns when so many more saves were refused.
    func awaitRefusals(_ count: Int) async {
        let goal = outcomes.refused + count
        await wait { $0.refused >= goal }
    }

    private func wait(_ isThere: @escaping @Sendable (Outcomes) -> Bool) async {
        await withCheckedContinuation { continuation in
            let isThereAlready = state.withLock { state in
                if isThere(state.outcomes) { return true }
                state.waiting.append((isThere, continuation))
                return false
            }
            if isThereAlready { continuation.resume() }
        }
    }
}
