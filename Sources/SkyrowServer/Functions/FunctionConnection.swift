import SkyrowConcurrency
import SkyrowProtocol
import SkyrowRemote
import Synchronization

/// A process of a function server: its client, its dialect, and the calls that it has not finished.
final class FunctionConnection: Sendable {
    private struct State {
        var dialect = FunctionDialect.skygear
        var calls = 0
        var isRetired = false
    }

    let client: FunctionServerClient
    private let state = Mutex(State())
    private let drained = Deferred<Void>()

    init(_ client: FunctionServerClient) {
        self.client = client
    }

    /// As its answer to `init` says.
    var dialect: FunctionDialect {
        get { state.withLock(\.dialect) }
        set { state.withLock { $0.dialect = newValue } }
    }

    func begin() {
        state.withLock { $0.calls += 1 }
    }

    func end() {
        settle { $0.calls -= 1 }
    }

    /// Waits until its calls are finished; no further ones may begin.
    func retire() async {
        settle { $0.isRetired = true }
        await drained.value()
    }

    private func settle(_ change: (inout State) -> Void) {
        let isDrained = state.withLock { state in
            change(&state)
            return state.isRetired && state.calls == 0
        }
        if isDrained { drained.settle() }
    }
}
