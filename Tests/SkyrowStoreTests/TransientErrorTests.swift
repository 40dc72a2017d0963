import SkyrowModel
import SkyrowPostgres
import Testing

@testable import SkyrowStore

@Suite struct TransientErrorTests {
    /// What the death of PostgreSQL, its start, or a pooler in front of it can do to a statement that reads passes by itself; what is wrong
    /// with the statement or its result does not.
    @Test(
        arguments: [
            // The connection is lost, at whatever moment, or none can be opened.
            (PostgresError(code: .connectionLost), true),
            (PostgresError(code: .connectionLost, sqlState: "57P02"), true),
            (PostgresError(code: .indeterminateCommit), true),
            (PostgresError(code: .cannotConnect), true),
            (PostgresError(code: .cannotConnect, sqlState: "57P03"), true),
            // The client's own limits, and its end.
            (PostgresError(code: .shutDown), true),
            (PostgresError(code: .statementTimeout), true),
            (PostgresError(code: .statementTimeout, sqlState: .queryCanceled), true),
            (PostgresError(code: .acquireTimeout), true),
            (PostgresError(code: .acquireTimeout, sqlState: .lockNotAvailable), true),
            (PostgresError(code: .overloaded), true),
            (PostgresError(code: .resultMemoryExhausted), true),
            // Exceptions of connections, as poolers report them.
            (PostgresError(code: .server, sqlState: "08000"), true),
            (PostgresError(code: .server, sqlState: "08003"), true),
            (PostgresError(code: .server, sqlState: "08006"), true),
            (PostgresError(code: .server, sqlState: .protocolViolation), true),
            // An operator, a shutdown, a crash, a start.
            (PostgresError(code: .server, sqlState: .adminShutdown), true),
            (PostgresError(code: .server, sqlState: "57P02"), true),
            (PostgresError(code: .server, sqlState: "57P03"), true),
            // Resources and the disk.
            (PostgresError(code: .server, sqlState: .outOfMemory), true),
            (PostgresError(code: .server, sqlState: .tooManyConnections), true),
            (PostgresError(code: .server, sqlState: "58030"), true),
            // Other transactions, and a server that is a standby.
            (PostgresError(code: .server, sqlState: .serializationFailure), true),
            (PostgresError(code: .server, sqlState: .deadlockDetected), true),
            (PostgresError(code: .server, sqlState: .readOnlyTransaction), true),
            // The statement, the role, the data.
            (PostgresError(code: .server, sqlState: .insufficientPrivilege), false),
            (PostgresError(code: .server, sqlState: .undefinedTable), false),
            (PostgresError(code: .server, sqlState: "22P02"), false),
            (PostgresError(code: .server, sqlState: "XX001"), false),
            (PostgresError(code: .invalidValue), false),
            (PostgresError(code: .resultTooLarge), false),
            (PostgresError(code: .undecodable), false),
            (PostgresError(code: .misuse), false),
        ]
    )
    func whatPassesByItselfIsTriedAgain(_ error: PostgresError, _ isTransient: Bool) {
        #expect(SkyrowError(error).isTransient == isTransient)
    }
}
