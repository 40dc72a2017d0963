import SkyrowTestSupport
import Synchronization

@testable import SkyrowActions

/// A client of two live queries and its connection: what it holds it takes along to the next connection.
struct ModelClient {
    /// The names of its subscriptions, and the value of `grp` that each asks for; nil for all records.
    static let subscriptions: KeyValuePairs<String, Int64?> = ["some": 1, "all": nil]

    let outlet: ModelOutlet
    var connection = 0

    init(capacity: Int) {
        outlet = ModelOutlet(capacity: capacity)
    }

    private init(_ outlet: ModelOutlet) {
        self.outlet = outlet
    }

    var sink: MemoryOutlet { outlet.sink }

    /// Whether a subscription has ended, so that the client has to begin anew.
    var hasReset: Bool { Self.subscriptions.contains { sink.reset($0.key) != nil } }

    /// The client with its next connection: what it has no token for it forgets.
    func next() -> ModelClient {
        let outlet = ModelOutlet(capacity: outlet.capacity)
        for (name, _) in Self.subscriptions {
            let reset = sink.reset(name)
            guard let token = reset == nil ? sink.token(name) : reset?["token"] else { continue }
            outlet.sink.hold(sink.held(name), name, token: token)
        }
        return ModelClient(outlet)
    }
}

/// A connection that holds some bytes: what is more makes it drop all that waits, and then it takes nothing until it recovers.
final class ModelOutlet: LiveOutlet {
    private struct State {
        var waiting: [LiveMessage] = []
        var bytes = 0
        var generation = 0
    }

    let capacity: Int
    /// What the client gets.
    let sink = MemoryOutlet()
    private let state = Mutex(State())

    init(capacity: Int) {
        self.capacity = capacity
    }

    var generation: Int { state.withLock(\.generation) }
    var isEmpty: Bool { state.withLock(\.waiting.isEmpty) }

    func send(_ message: LiveMessage, in generation: Int) -> Bool {
        state.withLock { state in
            guard generation == state.generation, generation.isMultiple(of: 2) else { return false }
            guard state.waiting.isEmpty || state.bytes + message.byteCount <= capacity else {
                state = State(generation: generation + 1)
                return false
            }
            state.waiting.append(message)
            state.bytes += message.byteCount
            return true
        }
    }

    func close(_ reason: LiveClosure) {}

    /// Has the client get the next message; false where none waits.
    @discardableResult
    func leave() -> Bool {
        let message = state.withLock { state -> LiveMessage? in
            guard !state.waiting.isEmpty else { return nil }
            let message = state.waiting.removeFirst()
            state.bytes -= message.byteCount
            return message
        }
        return message.map { sink.send($0, in: 0) } ?? false
    }

    /// Takes messages again; false where it has dropped none.
    func recover() -> Bool {
        state.withLock { state in
            guard !state.generation.isMultiple(of: 2) else { return false }
            state.generation += 1
            return true
        }
    }
}
