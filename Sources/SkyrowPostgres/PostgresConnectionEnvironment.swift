internal import CLibpq

extension PostgresConfiguration {
    /// A connection string as the variables that libpq's programs read, so that a password stands in no command line.
    ///
    /// ```swift
    /// try PostgresConfiguration.environment(ofConnection: "postgresql://ann@db1/app?sslmode=require")
    /// // ["PGUSER": "ann", "PGHOST": "db1", "PGDATABASE": "app", "PGSSLMODE": "require"]
    /// ```
    ///
    /// Options without a variable, such as `keepalives`, are left out.
    ///
    /// - Throws: ``PostgresError`` with the code `misuse` when it is no connection string; its message quotes nothing of it.
    package static func environment(ofConnection text: String) throws(PostgresError) -> [String: String] {
        var environment: [String: String] = [:]
        try forEachOption(ofConnection: text) { option in
            if let name = option.envvar, let value = option.val {
                environment[String(cString: name)] = String(cString: value)
            }
        }
        return environment
    }

    /// Whether a connection string has a password in it, of the role or of a key.
    package static func holdsPassword(connection text: String) -> Bool {
        var isFound = false
        // What is no connection string is refused where it is used.
        try? forEachOption(ofConnection: text) { option in
            let isPassword = ["password", "sslpassword"].contains(String(cString: option.keyword))
            if isPassword, let value = option.val, value.pointee != 0 { isFound = true }
        }
        return isFound
    }

    /// How many hosts a connection string names, which libpq tries one after another; 1 for one that names none.
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
            throw PostgresError(code: .misuse, message: "This is no connection string")
        }
        defer { PQconninfoFree(options) }
        var option = options
        while option.pointee.keyword != nil {
            body(option.pointee)
            option += 1
        }
    }
}
