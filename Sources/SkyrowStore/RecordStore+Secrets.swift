internal import SkyrowPostgres

extension RecordStore {
    /// Returns the secrets of the application by number, from which its signing keys are derived.
    func secrets() async throws -> [UInt8: [UInt8]] {
        let columns = Columns({ (number: UInt8, secret: [UInt8]) in (number, secret) }, "number", "secret")
        let result = try await client.read("SELECT \(columns.list) FROM \(schema.internal)._secret ORDER BY number")
        return Dictionary(uniqueKeysWithValues: try result.rows(columns))
    }
}
