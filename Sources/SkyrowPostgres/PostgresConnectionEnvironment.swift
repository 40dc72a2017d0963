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
        guard let options = PQconninfoParse(text, nil) else {
            throw PostgresError(code: .misuse, message: "This is no connection string")
        }
        defer { PQconninfoFree(options) }
        var environment: [String: String] = [:]
        var option = options
        while option.pointee.keyword != nil {
            if let name = option.pointee.envvar, let value = option.pointee.val {
                environment[String(cString: name)] = String(cString: value)
            }
            option += 1
        }
        return environment
    }
}
