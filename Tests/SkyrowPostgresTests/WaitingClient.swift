import SkyrowPostgres
import SkyrowTestSupport
import Synchronization

/// Lets statements gather in a client's queues before it runs, so that what travels together is certain; then runs it.
///
/// - Parameter waiting: How many statements have to wait before the client starts.
func withWaitingClient<Success: Sendable>(
    _ url: String,
    waiting: Int,
    configure: (inout PostgresConfiguration) -> Void = { _ in },
    statements: [@Sendable (PostgresClient) async throws -> Success]
) async throws -> (outcomes: [Result<Success, any Error>], statistics: PostgresStatistics) {
    var configuration = PostgresConfiguration(connection: url)
    configure(&configuration)
    let client = PostgresClient(configuration: configuration, logger: .silent)
    let tasks = statements.map { statement in Task { try await statement(client) } }
    while client.waitingStatements < waiting { await Task.yield() }
    let service = Task { try await client.run() }
    var outcomes: [Result<Success, any Error>] = []
    for task in tasks { outcomes.append(await task.result) }
    let statistics = client.statistics
    service.cancel()
    try await service.value
    return (outcomes, statistics)
}

extension PostgresClient {
    var waitingStatements: Int {
        let statistics = statistics
        return statistics.reads.queueDepth + statistics.writes.queueDepth + statistics.sharedWrites.queueDepth
            + statistics.transactionsWaiting
    }
}

extension Result {
    var failureCode: PostgresError.Code? {
        switch self {
        case .success: nil
        case .failure(let error): (error as? PostgresError)?.code
        }
    }

    var succeeded: Bool {
        switch self {
        case .success: true
        case .failure: false
        }
    }
}

extension Array {
    func allSucceeded<Success>() -> Bool where Element == Result<Success, any Error> {
        !contains { !$0.succeeded }
    }
}

/// Counts what several tasks do.
final class Counter: Sendable {
    private let count = Atomic<Int>(0)

    var value: Int { count.load(ordering: .sequentiallyConsistent) }

    func increment() {
        count.add(1, ordering: .sequentiallyConsistent)
    }
}
