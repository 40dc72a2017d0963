import SkyrowPostgres
import SkyrowTestSupport

/// Lets statements gather in a client's queues before it runs, so that what travels together is certain; then runs it.
///
/// - Parameter count: How many statements have to wait before the client starts.
func withWaitingClient<Success: Sendable>(
    _ url: String,
    waiting count: Int,
    configure: (inout PostgresConfiguration) -> Void = { _ in },
    statements: [@Sendable (PostgresClient) async throws -> Success]
) async throws -> (outcomes: [Result<Success, any Error>], statistics: PostgresStatistics) {
    var configuration = PostgresConfiguration(connection: url, waitingUpTo: .seconds(300))
    configuration.sendsSlowStatementsOnce()
    configure(&configuration)
    let client = PostgresClient(configuration: configuration, logger: .silent)
    let tasks = statements.map { statement in Task { try await statement(client) } }
    try await waiting(until: "\(count) statements wait") { client.waitingStatements >= count }
    let service = Task { try await client.run() }
    var outcomes: [Result<Success, any Error>] = []
    for (number, task) in tasks.enumerated() {
        // A client that was cancelled ends whatever waits for it.
        let outcome = try await waiting(for: "the outcome of statement \(number)") {
            service.cancel()
        } _: {
            await task.result
        }
        outcomes.append(outcome)
    }
    let statistics = client.statistics
    service.cancel()
    try await waiting(for: "the end of the client") { try await service.value }
    return (outcomes, statistics)
}

extension PostgresClient {
    var waitingStatements: Int {
        let statistics = statistics
        return statistics.reads.queueDepth + statistics.writes.queueDepth + statistics.groupCommits.queueDepth
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
