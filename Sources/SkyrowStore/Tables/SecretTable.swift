internal import SkyrowPostgres

/// The secrets of the application, from which its signing keys are derived.
struct SecretTable {
    let client: PostgresClient
    let schema: SQLIdentifier

    /// Returns the secrets by number.
    func secrets() async throws -> [UInt8: [UInt8]] {
        let result = try await client.read("SELECT number, secret FROM \(schema.internal).\"_secret\" ORDER BY number")
        var secrets: [UInt8: [UInt8]] = [:]
        for row in 0..<result.rowCount {
            let number = try result.decode(row: row, column: 0, as: UInt8.self)
            secrets[number] = try result.decode(row: row, column: 1)
        }
        return secrets
    }
}
