import Foundation
import SkyrowTestSupport
import Synchronization

@testable import SkyrowMaintenance
@testable import SkyrowServer
@testable import SkyrowSystem
@testable import skyrow

/// Saves notes from several tasks until it is told to stop, and keeps what became of each.
final class Load: Changing {
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
        /// Why nothing more will come.
        var end: String?
    }

    private let state = Mutex(State())
    let changes = ChangeSignal()
    private let type: String
    private let content: String

    /// - Parameter size: how many bytes each note has beside its id.
    init(type: String = "note", size: Int = 0) {
        self.type = type
        content = String(repeating: "x", count: size)
    }

    /// Saves until ``stop()``, its cancellation, the end of the service, or a hundred losses.
    ///
    /// - Parameter outlivesService: the service is one of several behind a proxy, and its end is not that of the load.
    func run(on service: RunningService, tasks: Int = 4, outlivesService: Bool = false) async {
        await withTaskGroup(of: Void.self) { group in
            for task in 0..<tasks {
                group.addTask { await self.save(on: service, task, outlivesService) }
            }
        }
        let crash = await service.crash().map { "; the service crashed: \($0)" } ?? ""
        state.withLock { $0.end = "the clients have ended; losses: \($0.outcomes.losses.prefix(5))\(crash)" }
        changes.notify()
    }

    private func save(on service: RunningService, _ task: Int, _ outlivesService: Bool) async {
        var number = 0
        while !Task.isCancelled, state.withLock({ !$0.isStopping && $0.outcomes.losses.count < 100 }) {
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
                if !outlivesService, service.process.exitIfEnded != nil { return }
                note { $0.losses.append("\(error)") }
            }
        }
    }

    private func note(_ change: (inout Outcomes) -> Void) {
        state.withLock { change(&$0.outcomes) }
        changes.notify()
    }

    func stop() {
        state.withLock { $0.isStopping = true }
    }

    var outcomes: Outcomes { state.withLock { $0.outcomes } }
    var acknowledged: Set<String> { outcomes.acknowledged }

    /// Returns when so many more saves were acknowledged.
    func awaitProgress(_ count: Int) async throws {
        let goal = acknowledged.count + count
        try await wait(until: "\(goal) saves are acknowledged") { $0.acknowledged.count >= goal }
    }

    /// Returns when so many more saves were refused.
    func awaitRefusals(_ count: Int) async throws {
        let goal = outcomes.refused + count
        try await wait(until: "\(goal) saves are refused") { $0.refused >= goal }
    }

    private func wait(until what: String, _ isThere: (Outcomes) -> Bool) async throws {
        try await waiting(until: what, hearing: [self]) {
            try state.withLock { state in
                if isThere(state.outcomes) { return true }
                if let end = state.end { throw ServiceFailure(description: "Before \(what), \(end)") }
                return false
            }
        }
    }
}
