package import SkyrowModel
package import SkyrowPostgres

extension RecordStore {
    /// Runs a statement that writes; returns how many rows it has changed.
    @discardableResult
    func write(_ statement: SQL) async throws(SkyrowError) -> Int {
        try await reporting { try await client.write(statement).affectedRows }
    }

    /// Runs `body`; whatever goes wrong leaves as `SkyrowError`.
    ///
    /// - Parameter special: errors of the database that mean something of their own here.
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
