package import SkyrowModel
package import SkyrowPostgres

/// The recorded state of an index and the step that follows from it: a value without a clock or a connection.
///
/// The row of an index is committed before its build begins, and marks the index as the service's own. The session with the
/// builders' lock reads a row together with the actual index, does one step, and reads again, so an earlier builder may have
/// stopped anywhere.
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

    /// The relation found under the name of the index.
    package enum Observation: String, Hashable, Sendable, CaseIterable {
        case absent
        /// An index of the type that is not valid.
        case invalid
        case valid
        /// An index of words whose language no longer matches the field, since psql changed it.
        case outdated
        /// Something other than an index of the type.
        case other
    }

    package enum Step: Hashable, Sendable {
        /// Count an attempt, and build the index.
        case build
        /// Drop the remains of an attempt, or an index to delete.
        case drop
        /// Count the values that several records have.
        case countDuplicates
        /// Record this outcome.
        case settle(State, IndexFailure?)
        /// Delete the row.
        case forget
    }

    /// Upper bound on builds that PostgreSQL or the service interrupted.
    package static let maximumAttempts = 3

    package var state: State
    /// The number of attempts, without those stopped by a shutdown.
    package var attempts: Int
    /// Whether an attempt was ever started, so that a relation with this name is the service's.
    package var hasBegun: Bool
    /// Why the build failed; in the state `building`, why the last attempt failed.
    package var failure: IndexFailure?

    package init(_ state: State = .building, attempts: Int = 0, hasBegun: Bool = false, failure: IndexFailure? = nil) {
        self.state = state
        self.attempts = attempts
        self.hasBegun = hasBegun
        self.failure = failure
    }

    /// Returns the next step; nil if there is nothing to do.
    package func step(_ observed: Observation) -> Step? {
        switch (state, observed) {
        case (.building, .absent):
            attempts < Self.maximumAttempts ? .build : .settle(.failed, failure ?? IndexFailure(.serverStopped))
        // psql or another program has taken the name.
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
        // An administrator completed it manually.
        case (.failed, .valid): failure?.reason == .nameTaken ? nil : .settle(.ready, nil)
        case (.deleting, .absent), (.deleting, .other): .forget
        case (.deleting, .invalid), (.deleting, .valid), (.deleting, .outdated): .drop
        }
    }

    private var needsCount: Bool { failure?.reason == .duplicate && failure?.duplicates == nil }

    // MARK: Outcomes of an attempt

    /// The row of an attempt that begins.
    package var begun: IndexRecord {
        IndexRecord(.building, attempts: attempts + 1, hasBegun: true, failure: failure)
    }

    /// Returns the row after an attempt that PostgreSQL refused.
    package func refused(_ failure: IndexFailure) -> IndexRecord {
        let isFinal = !failure.isTransient || attempts >= Self.maximumAttempts
        return IndexRecord(isFinal ? .failed : .building, attempts: attempts, hasBegun: true, failure: failure)
    }

    /// The row after an attempt that a shutdown stopped, which does not count.
    package var stopped: IndexRecord {
        IndexRecord(.building, attempts: max(0, attempts - 1), hasBegun: true, failure: failure)
    }
}

extension IndexFailure {
    /// Whether the same build may succeed if it is retried.
    var isTransient: Bool { reason == .serverStopped || reason == .deadlock }

    /// The reason why PostgreSQL refused to build an index; nil for a connection error, whose outcome is unknown.
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
