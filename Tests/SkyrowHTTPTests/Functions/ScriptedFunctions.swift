import SkyrowActions
import SkyrowModel
import SkyrowProtocol
import Synchronization

/// A runner that answers by a closure, and keeps the calls.
final class ScriptedFunctions: FunctionRunner {
    private let answer: @Sendable (FunctionCall) -> FunctionAnswer
    private let made = Mutex<[FunctionCall]>([])

    init(_ answer: @escaping @Sendable (FunctionCall) -> FunctionAnswer) {
        self.answer = answer
    }

    var states: [(server: String, state: FunctionServerState)] { [("main", .ready)] }

    func call(_ call: FunctionCall, deadline: ContinuousClock.Instant?) async throws(SkyrowError) -> FunctionAnswer {
        made.withLock { $0.append(call) }
        return answer(call)
    }

    /// Returns the calls since the last time.
    func take() -> [FunctionCall] {
        made.withLock { calls in
            defer { calls = [] }
            return calls
        }
    }
}

extension FunctionCall {
    /// The name and the arguments of a call of a function, `hello {"n":1}`.
    var summary: String {
        switch content {
        case .function(let name, let arguments):
            "\(name) \(arguments.map { String(decoding: $0.utf8, as: UTF8.self) } ?? "-")"
        case .handler(let request): "\(request.method) \(request.path)"
        case .hook, .event, .provider: "?"
        }
    }
}
