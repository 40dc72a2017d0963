import Testing

@testable import SkyrowPostgres

/// What becomes of a request, for everything that can happen to its batch; no server is needed to decide it.
@Suite struct DispositionTests {
    private static let refused = PostgresError(code: .server, sqlState: .uniqueViolation)
    private static let deadlock = PostgresError(code: .server, sqlState: .deadlockDetected)
    private static let cancelled = PostgresError(code: .statementTimeout, sqlState: .queryCanceled)
    private static let locked = PostgresError(code: .server, sqlState: .lockNotAvailable)
    private static let lost = PostgresError(code: .connectionLost)

    private func describe(
        _ statement: StatementOutcome,
        _ role: ConnectionRole,
        _ outcome: BatchOutcome,
        _ change: (inout StatementOutcome.Situation) -> Void = { _ in }
    ) -> String {
        var situation = StatementOutcome.Situation(role: role, outcome: outcome)
        change(&situation)
        switch statement.disposition(in: situation) {
        case .alreadyFinished: return "finished"
        case .succeed: return "succeed"
        case .fail(let error): return "fail \(error.code) \(error.sqlState?.rawValue ?? "-")"
        case .cancelled: return "cancelled"
        case .retry(.unrelated): return "again"
        case .retry(.stale): return "again, one preparation more"
        case .retry(.connectionLost): return "again, one loss more"
        case .retry(.conflict): return "again, one conflict more"
        case .reconnectAndRetry: return "again elsewhere"
        case .alone: return "alone"
        }
    }

    @Test(arguments: [ConnectionRole.read, .write, .groupCommit])
    func whatWasNotSentIsDoneAgainUntilTooManyConnectionsWereLost(role: ConnectionRole) {
        #expect(describe(.none, role, .notSent) == "again, one loss more")
        #expect(describe(.none, role, .notSent) { $0.losses = 3 } == "fail connectionLost -")
    }

    @Test func aReadIsDoneAgainAfterALossAndAWriteIsNot() {
        #expect(describe(.none, .read, .lost(Self.lost)) == "again, one loss more")
        #expect(describe(.aborted, .read, .lost(Self.lost)) == "again, one loss more")
        #expect(describe(.none, .read, .lost(Self.lost)) { $0.losses = 3 } == "fail connectionLost -")
        for role in [ConnectionRole.write, .groupCommit] {
            #expect(describe(.none, role, .lost(Self.lost)) == "fail indeterminateCommit -")
            #expect(describe(.none, role, .lost(Self.lost)) { $0.isOnlyOne = false } == "fail indeterminateCommit -")
        }
    }

    @Test func aReadThatDidNotEndInTimeIsNotDoneAgainAndItsNeighboursAre() {
        typealias Overdue = StatementOutcome.Overdue
        let lost = BatchOutcome.lost(Self.lost)
        #expect(describe(.none, .read, lost) { $0.overdue = .itself } == "fail statementTimeout -")
        #expect(describe(.none, .read, lost) { ($0.overdue, $0.isCancelled) = (.itself, true) } == "cancelled")
        #expect(describe(.none, .read, lost) { ($0.overdue, $0.losses) = (.neighbour, 3) } == "again")
        for role in [ConnectionRole.write, .groupCommit] {
            #expect(describe(.none, role, lost) { $0.overdue = .itself } == "fail indeterminateCommit -")
        }
    }

    @Test func aRefusalIsCertainEvenWhenTheConnectionIsLostAfterwards() {
        let statement = StatementOutcome.failure(Self.refused, wasRun: true)
        #expect(describe(statement, .write, .lost(Self.lost)) == "fail server 23505")
        #expect(describe(statement, .read, .lost(Self.lost)) == "fail server 23505")
        #expect(describe(statement, .groupCommit, .lost(Self.lost)) { $0.groupFailed = true } == "fail server 23505")
    }

    @Test func onlyTheMemberThatSpoiltAGroupIsTriedAlone() {
        func inFailedGroup(_ statement: StatementOutcome, outcome: BatchOutcome = .committed) -> String {
            describe(statement, .groupCommit, outcome) {
                $0.groupFailed = true
                $0.isOnlyOne = false
            }
        }
        #expect(inFailedGroup(.failure(Self.refused, wasRun: true)) == "alone")
        #expect(inFailedGroup(.failure(Self.refused, wasRun: false)) == "fail server 23505")
        #expect(inFailedGroup(.aborted) == "again")
        #expect(inFailedGroup(.stale) == "again, one preparation more")
        #expect(inFailedGroup(.none, outcome: .lost(Self.lost)) == "again, one loss more")
        #expect(inFailedGroup(.aborted, outcome: .commitFailed(Self.refused)) == "alone")
    }

    @Test func theFirstFailureSpoilsAGroup() {
        let failure = StatementOutcome.failure(Self.refused, wasRun: true)
        func place(_ statements: [StatementOutcome], outcome: BatchOutcome = .committed) -> String {
            switch GroupFailure(statements, outcome: outcome) {
            case nil: "none"
            case .commit: "commit"
            case .statement(let place, let sqlState): "\(place) \(sqlState?.rawValue ?? "-")"
            }
        }
        #expect(place([.none, .none]) == "none")
        #expect(place([.failure(Self.refused, wasRun: false), .aborted]) == "none")
        #expect(place([.none, failure, .aborted]) == "1 23505")
        #expect(place([.stale, .aborted]) == "0 -")
        #expect(place([.aborted], outcome: .commitFailed(Self.refused)) == "commit")
    }

    @Test func theShortLimitsOfTheSharedConnectionAreNotTheCallers() {
        for error in [Self.locked, Self.cancelled] {
            let statement = StatementOutcome.failure(error, wasRun: true)
            #expect(describe(statement, .groupCommit, .committed) { $0.groupFailed = true } == "alone")
        }
        #expect(describe(.failure(Self.locked, wasRun: true), .write, .committed) == "fail server 55P03")
    }

    @Test(arguments: [ConnectionRole.read, .write])
    func deadlocksAreRunAgainAFewTimes(role: ConnectionRole) {
        let statement = StatementOutcome.failure(Self.deadlock, wasRun: true)
        #expect(describe(statement, role, .committed) == "again, one conflict more")
        #expect(describe(statement, role, .committed) { $0.conflicts = 3 } == "fail server 40P01")
    }

    @Test func aCancelHitsTheOneItWasMeantFor() {
        let statement = StatementOutcome.failure(Self.cancelled, wasRun: true)
        #expect(describe(statement, .write, .committed) { $0.isCancelled = true } == "cancelled")
        #expect(describe(statement, .read, .committed) { $0.wasCancelled = true } == "again")
        #expect(describe(statement, .read, .committed) == "fail statementTimeout 57014")
    }

    @Test func aServerThatRefusesWritesIsLeftOnce() {
        let error = PostgresError(code: .server, sqlState: .readOnlyTransaction)
        let statement = StatementOutcome.failure(error, wasRun: true)
        #expect(describe(statement, .write, .committed) == "again elsewhere")
        #expect(describe(statement, .write, .committed) { $0.conflicts = 1 } == "fail server 25006")
        // Not the server refused it, but the request itself, which would do so anywhere.
        #expect(describe(statement, .read, .committed) { $0.isReadOnly = true } == "fail server 25006")
    }

    @Test(arguments: [ConnectionRole.read, .write, .groupCommit])
    func aStaleStatementIsPreparedAgain(role: ConnectionRole) {
        #expect(
            describe(.stale, role, .committed) { $0.groupFailed = role == .groupCommit }
                == "again, one preparation more"
        )
        let stale = PipelineResult.failure(PostgresError(code: .server, sqlState: .featureNotSupported))
        guard case .stale = StatementOutcome(stale, isFresh: false, preparationFailure: nil),
            case .failure = StatementOutcome(stale, isFresh: true, preparationFailure: nil)
        else {
            Issue.record("Only a statement prepared earlier can be stale")
            return
        }
    }
}
