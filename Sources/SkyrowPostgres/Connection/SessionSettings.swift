/// The PostgreSQL settings of a client's sessions, by the role of the connection.
struct SessionSettings {
    /// The settings that affect the text and the results of statements, with PostgreSQL's defaults, which a role, a database or
    /// `postgresql.conf` may have changed. Settings that columns' defaults and triggers may depend on are left alone: time zone,
    /// language, order of dates.
    private static let defaults = [
        "DateStyle": "ISO",
        "IntervalStyle": "postgres",
        "array_nulls": "on",
        "bytea_output": "hex",
        "default_transaction_isolation": "read committed",
        "extra_float_digits": "1",
        "gin_fuzzy_search_limit": "0",
        "lock_timeout": "0",
        "quote_all_identifiers": "off",
        "row_security": "on",
        "standard_conforming_strings": "on",
        "statement_timeout": "0",
        "transform_null_equals": "off",
        "xmloption": "content",
    ]

    /// The values as text, by name.
    let values: [String: String]
    /// Whether the server can check, while it runs a statement, that its client is still connected.
    private let checksConnection: Bool

    /// - Parameter serverVersion: In libpq's form, 150004 for 15.4.
    init(of configuration: PostgresConfiguration, role: ConnectionRole, serverVersion: Int32) {
        var values = Self.defaults.merging(configuration.sessionSettings) { _, own in own }
        if let path = configuration.searchPath { values["search_path"] = path.map(\.quoted).joined(separator: ", ") }
        switch role {
        case .read, .write, .listen:
            break
        case .groupCommit:
            values["lock_timeout"] = String(configuration.groupCommitLockTimeout.settingMilliseconds)
        case .transaction:
            let idle = configuration.idleTransactionTimeout.settingMilliseconds
            values["idle_in_transaction_session_timeout"] = String(idle)
        }
        if let limit = configuration.statementTimeout(of: role) {
            values["statement_timeout"] = String(limit.settingMilliseconds)
        }
        self.values = values
        checksConnection = serverVersion >= 140_000 && values["client_connection_check_interval"] == nil
    }

    /// Returns the calls that apply the settings, as a list of columns; for the session, or for the transaction only.
    func calls(isLocal: Bool) -> [SQL] {
        var calls = values.sorted { $0.key < $1.key }
            .map { "set_config(\($0.key), \($0.value), \(isLocal))" as SQL }
        if checksConnection {
            // Only Linux supports the check; elsewhere the server refuses the setting.
            calls.append(
                """
                CASE WHEN version() LIKE '%linux%'
                    THEN set_config('client_connection_check_interval', '5s', \(isLocal)) END
                """
            )
        }
        return calls
    }
}

extension PostgresConfiguration {
    /// The time limit of one statement on such a connection; nil is without limit.
    func statementTimeout(of role: ConnectionRole) -> Duration? {
        let own: Duration? =
            switch role {
            case .read: readTimeout
            case .groupCommit: groupCommitTimeout
            case .write, .transaction, .listen: nil
            }
        guard let own else { return statementTimeout }
        return statementTimeout.map { min($0, own) } ?? own
    }
}
