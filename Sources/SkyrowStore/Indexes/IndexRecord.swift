package import SkyrowModel
package import SkyrowPostgres

/// What the reserved table says of an index, and what follows from it: a value without a clock or a connection.
///
/// The row of an index is committed before its build begins and is the mark by which the service knows its own. The session
/// that holds the lock of builders reads a row with what is there, does one step, and reads again. So it does not matter
/// where an earlier builder stopped.
package struct IndexRecord: Hashable, Sendable {
    package enum State: String, Hashable, Sendable, CaseIterable {
        /// To be built.
        case building
        case ready
        /// Not to be built again.
        case failed
        /// To be dropped.
        case deleting
    }

    /// What is there under the name.
    package enum Observation: String, Hashable, Sendable, CaseIterable {
        case absent
        /// An index of the type that PostgreSQL does not use.
        case invalid
        case valid
        /// An index of words that are no longer those of its field, since psql gave the field another language.
        case outdated
        /// Something else than an index of the type.
        case other
    }

    package enum Step: Hashable, Sendable {
        /// Count an attempt, and build it.
        case build
        /// Drop what an attempt left, or an index that is to go.
        case drop
        /// Count the values that several records have.
        case countDuplicates
        /// Write that this has become of it.
        case settle(State, IndexFailure?)
        /// Delete the row.
        case forget
    }

    /// How often a build is begun that PostgreSQL or the service do not let end.
    package static let maximumAttempts = 3

    package var state: State
    /// Attempts that were begun, but for those that were stopped in an orderly way.
    package var attempts: Int
    /// Whether an attempt was ever begun, so that what is there under the name is ours.
    package var hasBegun: Bool
    /// Why it failed; of one that is to be built, why the last attempt did.
    package var failure: IndexFailure?

    package init(_ state: State = .building, attempts: Int = 0, hasBegun: Bool = false, failure: IndexFailure? = nil) {
        self.state = state
        self.attempts = attempts
        self.hasBegun = hasBegun
        self.failure = failure
    }

    /// What is to be done; nil when all is as it should be.
    package func step(_ observed: Observation) -> Step? {
        switch (state, observed) {
        case (.building, .absent):
            attempts < Self.maximumAttempts ? .build : .settle(.failed, failure ?? IndexFailure(.serverStopped))
        // Psql or another program was faster with the name.
        case (.building, .other): .settle(.failed, IndexFailure(.nameTaken))
        case (.building, .invalid), (.building, .valid), (.building, .outdated):
            if !hasBegun {
                .settle(.failed, IndexFailure(.nameTaken))
            } else {
                observed == .valid ? .settle(.ready, nil) : .drop
            }
        case (.ready, .valid): nil
        // Its field or its type was deleted, or psql dropped it.
        case (.ready, .absent), (.ready, .other): .forget
        case (.ready, .invalid), (.ready, .outdated): .settle(.building, nil)
        case (.failed, .absent): needsCount ? .countDuplicates : nil
        case (.failed, .other): nil
        case (.failed, .invalid), (.failed, .outdated): failure?.reason == .nameTaken ? nil : .drop
        // Somebody built it to its end by hand.
        case (.failed, .valid): failure?.reason == .nameTaken ? nil : .settle(.ready, nil)
        case (.deleting, .absent), (.deleting, .other): .forget
        case (.deleting, .invalid), (.deleting, .valid), (.deleting, .outdated): .drop
        }
    }

    private var needsCount: Bool { failure?.reason == .duplicate && failure?.duplicates == nil }

    // MARK: What becomes of an attempt

    /// The row of an attempt that begins.
    package var begun: IndexRecord {
        IndexRecord(.building, attempts: attempts + 1, hasBegun: true, failure: failure)
    }

    /// After an attempt that PostgreSQL refused.
    package func refused(_ failure: IndexFailure) -> IndexRecord {
        let isFinal = !failure.isTransient || attempts >= Self.maximumAttempts
        return IndexRecord(isFinal ? .failed : .building, attempts: attempts, hasBegun: true, failure: failure)
    }

    /// After an attempt that the service stopped because it shuts down: it does not count.
    package var stopped: IndexRecord {
        IndexRecord(.building, attempts: max(0, attempts - 1), hasBegun: true, failure: failure)
    }
}

extension IndexFailure {
    /// Whether the same build may succeed when it is begun again.
    var isTransient: Bool { reason == .serverStopped || reason == .deadlock }

    /// Why PostgreSQL refused to build an index; nil for an error of the connection, of which nothing is known.
    package init?(_ error: PostgresError) {
        switch (error.code, error.sqlState) {
        case (.statementTimeout, _), (.server, .queryCanceled): self.init(.cancelled)
        case (.server, .uniqueViolation): self.init(.duplicate)
        case (.server, .programLimitExceeded): self.init(.tooLong)
        case (.server, .deadlockDetected): self.init(.deadlock)
        case (.server, .duplicateTable): self.init(.nameTaken)
        case (.server, let state): self.init(.error, sqlState: state?.rawValue)
        default: return nil
        }
    }
}
