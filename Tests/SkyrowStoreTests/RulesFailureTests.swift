import SkyrowModel
import SkyrowPostgres
import Testing

@testable import SkyrowStore

@Suite struct RulesFailureTests {
    /// Clients try again what passes by itself, and nothing else.
    @Test(
        arguments: [
            (PostgresError(code: .acquireTimeout), .overloaded),
            (PostgresError(code: .acquireTimeout, sqlState: .lockNotAvailable), .overloaded),
            (PostgresError(code: .overloaded), .overloaded),
            (PostgresError(code: .statementTimeout), .overloaded),
            (PostgresError(code: .connectionLost), .overloaded),
            (PostgresError(code: .cannotConnect), .overloaded),
            (PostgresError(code: .shutDown), .overloaded),
            (PostgresError(code: .indeterminateCommit), .overloaded),
            (PostgresError(code: .resultMemoryExhausted), .overloaded),
            (PostgresError(code: .server, sqlState: "57P01"), .overloaded),
            (PostgresError(code: .server, sqlState: "53300"), .overloaded),
            (PostgresError(code: .server, sqlState: .lockNotAvailable), .overloaded),
            (PostgresError(code: .server, sqlState: .undefinedTable), .unexpectedUnableToOpenDatabase),
            (PostgresError(code: .server, sqlState: "42501"), .unexpectedUnableToOpenDatabase),
            (PostgresError(code: .server, sqlState: "XX001"), .unexpectedUnableToOpenDatabase),
            (PostgresError(code: .undecodable), .unexpectedUnableToOpenDatabase),
            (PostgresError(code: .misuse), .unexpectedUnableToOpenDatabase),
            (CancellationError(), .overloaded),
            (SkyrowError(.overloaded, "Try again."), .overloaded),
            (SkyrowError(.resourceNotFound, "There is none."), .unexpectedUnableToOpenDatabase),
        ] as [(any Error, ErrorCode)]
    )
    func theCauseDecides(_ error: any Error, _ code: ErrorCode) {
        #expect(RulesFailure(error).refusal.code == code)
    }
}
