internal import CLibpq

extension PostgresConfiguration {
    /// Returns a connection string as the environment variables of libpq's programs, so that no command line contains a password.
    ///
    /// ```swift
    /// try PostgresConfiguration.environment(ofConnection: "postgresql://ann@db1/app?sslmode=require")
    /// // ["PGUSER": "ann", "PGHOST": "db1", "PGDATABASE": "app", "PGSSLMODE": "require"]
    /// ```
    ///
    /// Options without a variable, such as `keepalives`, are left out.
    ///
    /// - Throws: ``PostgresError`` with the code `misuse` when the text is not a
    ///   connection string; the message quotes none of it.
    package static func environment(ofConnection text: String) throws(PostgresError) -> [String: String] {
        var environment: [String: String] = [:]
        try forEachOption(ofConnection: text) { option in
            if let name = option.envvar, let value = option.val {
                environment[String(cString: name)] = String(cString: value)
            }
        }
        return environment
    }

    /// Returns the options that a connection string gives, by the names of libpq.
    ///
    /// - Throws: ``PostgresError`` with the code `misuse` when the text is not a connection string.
    package static func options(ofConnection text: String) throws(PostgresError) -> [(name: String, value: String)] {
        var options: [(name: String, value: String)] = []
        try forEachOption(ofConnection: text) { option in
            if let value = option.val { options.append((String(cString: option.keyword), String(cString: value))) }
        }
        return options
    }

    /// Whether a connection string contains a password, of the role or of a key.
    package static func holdsPassword(connection text: String) -> Bool {
        var isFound = false
        // An invalid connection string is refused where it is used.
        try? forEachOption(ofConnection: text) { option in
            let isPassword = ["password", "sslpassword"].contains(String(cString: option.keyword))
            if isPassword, let value = option.val, value.pointee != 0 { isFound = true }
        }
        return isFound
    }

    /// The number of hosts in a connection string, which libpq tries one after another; 1 when it names no host.
    static func hostCount(ofConnection text: String) -> Int {
        var count = 1
        try? forEachOption(ofConnection: text) { option in
            guard ["host", "hostaddr"].contains(String(cString: option.keyword)), let value = option.val else { return }
            count = max(count, String(cString: value).split(separator: ",", omittingEmptySubsequences: false).count)
        }
        return count
    }

    private static func forEachOption(
        ofConnection text: String,
        _ body: (PQconninfoOption) -> Void
    ) throws(PostgresError) {
        guard let options = PQconninfoParse(text, nil) else {
            throw PostgresError(code: .misuse, message: "This is not a valid connection string")
        }
        defer { PQconninfoFree(options) }
        var option = options
        while option.pointee.keyword != nil {
            body(option.pointee)
            option += 1
        }
    }
}
