import SkyrowJSON
import SkyrowModel
import SkyrowProtocol
import Synchronization

@testable import SkyrowActions

/// A runner that answers by a closure, and keeps the calls.
final class ScriptedFunctions: FunctionRunner {
    typealias Answer = @Sendable (FunctionCall) async throws(SkyrowError) -> FunctionAnswer

    private let answer: Answer
    private let made = Mutex<[FunctionCall]>([])
    let states: [(server: String, state: FunctionServerState)]

    init(
        states: [(server: String, state: FunctionServerState)] = [("main", .ready)],
        _ answer: @escaping Answer = { _ in .value(json("{}")) }
    ) {
        self.states = states
        self.answer = answer
    }

    var calls: [FunctionCall] { made.withLock { $0 } }

    func call(_ call: FunctionCall, deadline: ContinuousClock.Instant?) async throws(SkyrowError) -> FunctionAnswer {
        made.withLock { $0.append(call) }
        return try await answer(call)
    }
}

func json(_ text: String) -> JSONText { JSONText(validated: Array(text.utf8)) }

func functionName(_ text: String) -> FunctionName { try! FunctionName(text) }

func function(_ name: String, need: FunctionNeed = .nothing) -> FunctionDescription {
    FunctionDescription(functionName(name), need: need)
}

func registration(
    functions: [FunctionDescription] = [],
    _ change: (inout FunctionRegistration) -> Void = { _ in }
) -> FunctionRegistration {
    var registration = FunctionRegistration(dialect: .skyrow)
    registration.functions = functions
    change(&registration)
    return registration
}

extension FunctionInvocation {
    init(_ name: String, _ arguments: String? = nil, key: String? = nil) {
        self.init(functionName(name), arguments: arguments.map(json), idempotencyKey: key)
    }
}

extension ResultWriter {
    /// The text of the result.
    var text: String {
        let writer = JSONWriter()
        write(writer)
        return String(decoding: writer.bytes, as: UTF8.self)
    }
}

extension ServiceFixture {
    /// The same service with function servers, which neither listens nor reads the database.
    func withFunctions(
        _ runner: ScriptedFunctions,
        _ registrations: [(name: String, registration: FunctionRegistration)]
    ) -> ActionService {
        let service = configured {
            $0.functions = FunctionConfiguration(runner: runner, servers: registrations.map(\.name))
        }
        service.functions.replace(FunctionRegistry(servers: registrations, database: []))
        service.functions.tokenKey = CallTokenKey([1, 2, 3], of: .default)
        return service
    }
}
