import SkyrowPostgres
import SkyrowTestSupport

/// A connection that stays, as that of a terminal with psql: its own statements begin and end its transactions.
final class OpenWriter: Sendable {
    enum Outcome: Sendable {
        case done
        case refused
        /// The connection is gone, and its transaction with it.
        case lost
    }

    private struct Command: Sendable {
        let statement: String
        let reply: CheckedContinuation<Outcome, Never>
    }

    private let commands = AsyncStream.makeStream(of: Command.self)

    init(_ client: PostgresClient) {
        let stream = commands.stream
        Task {
            do {
                try await client.withSession { session in
                    for await command in stream {
                        let outcome = await Self.run(command.statement, in: session)
                        command.reply.resume(returning: outcome)
                    }
                }
            } catch {
                for await command in stream { command.reply.resume(returning: .lost) }
            }
        }
    }

    deinit { commands.continuation.finish() }

    /// Runs one statement.
    func run(_ statement: String) async -> Outcome {
        await withCheckedContinuation { commands.continuation.yield(Command(statement: statement, reply: $0)) }
    }

    private static func run(_ statement: String, in session: PostgresSession) async -> Outcome {
        do {
            _ = try await session.query(SQL(trustedText: statement))
            return .done
        } catch let error as PostgresError where error.code == .server {
            // What ends a session: an administrator, a crash, a shutdown.
            return error.sqlState?.rawValue.hasPrefix("57P") == true ? .lost : .refused
        } catch {
            return .lost
        }
    }
}
