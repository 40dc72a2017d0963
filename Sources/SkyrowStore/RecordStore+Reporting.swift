package import SkyrowModel
package import SkyrowPostgres

extension RecordStore {
    /// Runs a statement that writes; returns the number of affected rows.
    @discardableResult
    func write(_ statement: SQL) async throws(SkyrowError) -> Int {
        try await reporting { try await client.write(statement).affectedRows }
    }

    /// Runs `body` and converts every error to `SkyrowError`.
    ///
    /// - Parameter special: maps database errors that have a specific meaning for this call.
    package func reporting<Success>(
        special: (PostgresError) -> SkyrowError? = { _ in nil },
        _ body: () async throws -> Success
    ) async throws(SkyrowError) -> Success {
        do {
            return try await body()
        } catch let error as SkyrowError {
            throw error
        } catch let error as PostgresError {
            throw special(error) ?? report(error)
        } catch is CancellationError {
            throw .databaseUnavailable
        } catch {
            throw .unexpected
        }
    }
}
