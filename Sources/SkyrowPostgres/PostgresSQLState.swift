/// The five-character code of a PostgreSQL condition (appendix A of its manual).
package struct PostgresSQLState: RawRepresentable, Hashable, Sendable, ExpressibleByStringLiteral {
    package let rawValue: String

    package init(rawValue: String) {
        self.rawValue = rawValue
    }

    package init(stringLiteral value: String) {
        self.init(rawValue: value)
    }

    /// The first two characters, which are the class of the condition.
    package var conditionClass: Substring { rawValue.prefix(2) }

    /// Whether code of the application raised it: `RAISE` without a code, or with one of the class `SK`.
    package var isRaised: Bool { self == .raiseException || conditionClass == Self.applicationClass }

    /// The class of the codes by which functions and triggers of the application name an error of Skyrow, `SK108`.
    package static let applicationClass = "SK"

    package static let featureNotSupported: PostgresSQLState = "0A000"
    package static let protocolViolation: PostgresSQLState = "08P01"
    package static let notNullViolation: PostgresSQLState = "23502"
    package static let foreignKeyViolation: PostgresSQLState = "23503"
    package static let uniqueViolation: PostgresSQLState = "23505"
    package static let checkViolation: PostgresSQLState = "23514"
    package static let exclusionViolation: PostgresSQLState = "23P01"
    package static let readOnlyTransaction: PostgresSQLState = "25006"
    package static let invalidStatementName: PostgresSQLState = "26000"
    package static let serializationFailure: PostgresSQLState = "40001"
    package static let deadlockDetected: PostgresSQLState = "40P01"
    package static let insufficientPrivilege: PostgresSQLState = "42501"
    package static let undefinedColumn: PostgresSQLState = "42703"
    package static let undefinedFunction: PostgresSQLState = "42883"
    package static let undefinedTable: PostgresSQLState = "42P01"
    package static let duplicateColumn: PostgresSQLState = "42701"
    package static let duplicateTable: PostgresSQLState = "42P07"
    package static let duplicatePreparedStatement: PostgresSQLState = "42P05"
    package static let datatypeMismatch: PostgresSQLState = "42804"
    package static let undefinedObject: PostgresSQLState = "42704"
    package static let lockNotAvailable: PostgresSQLState = "55P03"
    package static let queryCanceled: PostgresSQLState = "57014"
    package static let adminShutdown: PostgresSQLState = "57P01"
    package static let programLimitExceeded: PostgresSQLState = "54000"
    package static let statementTooComplex: PostgresSQLState = "54001"
    package static let tooManyColumns: PostgresSQLState = "54011"
    package static let tooManyArguments: PostgresSQLState = "54023"
    /// Memory is exhausted, for example that of the lock table.
    package static let outOfMemory: PostgresSQLState = "53200"
    package static let tooManyConnections: PostgresSQLState = "53300"
    package static let configurationLimitExceeded: PostgresSQLState = "53400"
    package static let raiseException: PostgresSQLState = "P0001"
}
