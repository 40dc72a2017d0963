/// Why changes do not arrive.
package struct ReplicationFailure: Error, Hashable, Sendable {
    package enum Reason: String, Hashable, Sendable, CaseIterable {
        /// The server does not write WAL for logical decoding.
        case walLevel = "wal-level"
        /// The role may not replicate.
        case missingPrivilege = "missing-privilege"
        /// All of the server's replication slots are in use.
        case slotsExhausted = "slots-exhausted"
        /// The server accepts no further WAL sender.
        case sendersExhausted = "senders-exhausted"
        /// A pooler in between does not support replication connections.
        case pooler
        case missingPublication = "missing-publication"
        /// The server is a standby, whose WAL cannot be decoded.
        case standby
        /// No connection could be opened, for another reason.
        case cannotConnect = "cannot-connect"
        /// The connection was lost, or the server ended it.
        case connectionLost = "connection-lost"
        /// The server does not respond any more.
        case silent
        /// The server refused a command, for another reason.
        case refused
        /// The data is not a message of the protocol.
        case undecodable
        /// The changes were not read for too long, and the server cannot retain its WAL for ever.
        case slowReader = "slow-reader"
    }

    package let reason: Reason
    /// The SQLSTATE of the server.
    package let sqlState: PostgresSQLState?
    /// The message of the server or of libpq, which may name hosts and roles: for the log only.
    package let message: String?

    package init(_ reason: Reason, sqlState: PostgresSQLState? = nil, message: String? = nil) {
        self.reason = reason
        self.sqlState = sqlState
        self.message = message
    }

    /// Whether the failure persists until someone changes a setting or a role, so that frequent attempts are useless.
    package var isLasting: Bool {
        switch reason {
        case .walLevel, .missingPrivilege, .slotsExhausted, .sendersExhausted, .pooler, .missingPublication, .standby:
            true
        case .cannotConnect, .connectionLost, .silent, .refused, .undecodable, .slowReader:
            false
        }
    }
}

extension ReplicationFailure: CustomStringConvertible {
    /// One sentence with the problem and its remedy, where there is one.
    package var description: String {
        switch reason {
        case .walLevel:
            "The WAL of PostgreSQL cannot be decoded: set wal_level to logical and restart PostgreSQL"
        case .missingPrivilege:
            "The role of the replication connection lacks REPLICATION: run ALTER ROLE … REPLICATION"
        case .slotsExhausted:
            "All replication slots of PostgreSQL are in use: raise max_replication_slots"
        case .sendersExhausted:
            "PostgreSQL accepts no more replication connections: raise max_wal_senders"
        case .pooler:
            "A pooler refuses the replication connection: set replication-url to the address of PostgreSQL itself"
        case .missingPublication:
            "The publication of the record tables is missing: skyrow doctor shows how to create it"
        case .standby:
            "The server of the replication connection is a standby: set replication-url to the primary"
        case .cannotConnect: "No replication connection can be opened"
        case .connectionLost: "The replication connection was lost"
        case .silent: "The server of the replication connection does not respond"
        case .refused: "PostgreSQL refused to stream changes"
        case .undecodable: "The replication connection received an invalid message"
        case .slowReader: "Changes were not read in time, and the stream was closed"
        }
    }
}

extension ReplicationFailure {
    /// The reason why libpq could not connect. Its message contains the SQLSTATE, since the verbosity was raised: `FATAL:  42501:
    /// must be superuser …`.
    init(connecting message: String) {
        let state = Self.sqlState(in: message)
        let reason: Reason =
            switch state {
            case .insufficientPrivilege: .missingPrivilege
            // Also sent when there are too many connections of any kind.
            case .tooManyConnections: .sendersExhausted
            // "unsupported startup parameter: replication"
            case .protocolViolation: .pooler
            default: .cannotConnect
            }
        self.init(reason, sqlState: state, message: message)
    }

    /// The last SQLSTATE in a message of several lines: with several hosts the last one counts.
    static func sqlState(in message: String) -> PostgresSQLState? {
        let found = message.split(whereSeparator: \.isWhitespace).last { word in
            // "FATAL:" has the same length.
            word.utf8.count == 6 && word.hasSuffix(":") && word.dropLast().contains(where: \.isNumber)
                && word.dropLast().allSatisfy { $0.isASCII && ($0.isNumber || $0.isUppercase) }
        }
        return found.map { PostgresSQLState(rawValue: String($0.dropLast())) }
    }

    /// Maps an error of a command or of the stream to a reason.
    init(_ error: PostgresError) {
        let reason: Reason =
            switch error.sqlState {
            case nil: .connectionLost
            case .insufficientPrivilege: .missingPrivilege
            case .configurationLimitExceeded: .slotsExhausted
            case .undefinedObject: .missingPublication
            // These close the connection: an administrator, a shutdown, a crash of another process.
            case .adminShutdown, "57P02", "57P03": .connectionLost
            default: .refused
            }
        self.init(reason, sqlState: error.sqlState, message: error.message)
    }
}
