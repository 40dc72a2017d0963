package import SkyrowModel
internal import SkyrowPostgres

/// What the function servers of an application have registered.
package struct FunctionServerTable: StoreTable, Sendable {
    let store: RecordStore

    /// Returns the registrations of servers, in any order; a server that has never registered has none.
    ///
    /// - Parameter names: those of the servers; nil for all, also those that the settings no longer name.
    package func all(
        named names: [String]? = nil
    ) async throws(SkyrowError) -> [(name: String, registration: JSONText)] {
        let columns = Columns(
            { (name: String, registration: JSONText) in (name, registration) },
            "name",
            "registration"
        )
        let condition: SQL = names.map { "name = ANY (\($0))" } ?? "true"
        return try await store.read(columns) {
            "SELECT \($0) FROM \(schema.internal)._function_server WHERE \(condition)"
        }.map { (name: $0.0, registration: $0.1) }
    }

    /// Stores what a server has registered; an equal registration writes nothing and notifies no process.
    ///
    /// - Parameter digest: SHA-256 of the registration.
    package func replace(
        _ registration: JSONText,
        digest: [UInt8],
        of name: String
    ) async throws(SkyrowError) {
        let row: NewRow = [
            "name": "\(name)", "digest": "\(digest)", "registration": "\(registration)", "registered_at": "now()",
        ]
        try await store.write(
            """
            INSERT INTO \(schema.internal)._function_server (\(row.names)) SELECT \(row.values)
            WHERE NOT EXISTS (
                SELECT FROM \(schema.internal)._function_server AS same
                WHERE same.name = \(name) AND same.digest = \(digest)
            )
            ON CONFLICT (name) DO UPDATE SET \(row.replacements)
            """
        )
    }
}
