import Synchronization

/// The functions of an application in this process: what is registered, and what calls it.
package final class FunctionState: Sendable {
    /// Calls the function servers; nil without any.
    package let runner: (any FunctionRunner)?
    private let current: Mutex<FunctionRegistry>

    package init(runner: (any FunctionRunner)?, registry: FunctionRegistry = .empty) {
        self.runner = runner
        current = Mutex(registry)
    }

    package var registry: FunctionRegistry { current.withLock { $0 } }

    /// Replaces the registry, for calls and hooks from now on.
    package func replace(_ registry: FunctionRegistry) {
        current.withLock { $0 = registry }
    }
}
