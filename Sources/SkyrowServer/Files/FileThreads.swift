import NIOPosix
import SkyrowActions
import SkyrowConcurrency

/// Threads that may wait for a disk.
struct FileThreads: Sendable {
    private let pool: NIOThreadPool

    /// Those that files of responses are read on, too.
    static let reading = FileThreads(pool: .singleton)

    /// Separate ones, since fsync(2) may take seconds and downloads should not wait for it. They start with the first upload.
    static let writing: FileThreads = {
        let pool = NIOThreadPool(numberOfThreads: 4)
        pool.start()
        return FileThreads(pool: pool)
    }()

    /// Runs work on a thread and waits for its end, even in a cancelled task: what it opened or removed has an owner.
    func run<Value: Sendable>(
        _ work: @escaping @Sendable () throws(FileFault) -> Value
    ) async throws(FileFault) -> Value {
        let outcome = Deferred<Result<Value, FileFault>>()
        pool.submit { state in
            switch state {
            case .active: outcome.settle(Result(catching: work))
            case .cancelled: outcome.settle(.failure(.unavailable("The threads of files have stopped.")))
            }
        }
        return try await outcome.value().get()
    }

    /// Looks at files on a thread and waits for the result.
    func look<Value: Sendable>(_ look: @escaping @Sendable () -> Value) async -> Value {
        let outcome = Deferred<Value>()
        start { outcome.settle(look()) }
        return await outcome.value()
    }

    /// Runs work on a thread and does not wait for it.
    func start(_ work: @escaping @Sendable () -> Void) {
        pool.submit { _ in work() }
    }
}
