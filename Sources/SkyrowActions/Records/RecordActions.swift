package import SkyrowModel


extension ActionService {
    /// `record:save`
    ///
    /// - Parameter encode: makes the bytes of the result; called only with an idempotency key, inside the transaction.
    package func save(
        _ request: SaveRequest,
        by caller: Caller,
        encode: @Sendable ([RecordOutcome]) throws(SkyrowError) -> [UInt8]
    ) async throws(SkyrowError) -> WriteAnswer {
        throw SkyrowError(.overloaded, "The service is not ready.")
    }

    /// `record:delete`
    package func delete(
        _ request: RecordIDsRequest,
        by caller: Caller,
        encode: @Sendable ([RecordOutcome]) throws(SkyrowError) -> [UInt8]
    ) async throws(SkyrowError) -> WriteAnswer {
        throw SkyrowError(.overloaded, "The service is not ready.")
    }

    /// `record:fetch`: one outcome an id, in the order of the request.
    package func fetch(_ request: RecordIDsRequest, by caller: Caller) async throws(SkyrowError) -> [RecordOutcome] {
        throw SkyrowError(.overloaded, "The service is not ready.")
    }

    /// `record:query`
    package func query(_ request: QueryRequest, by caller: Caller) async throws(SkyrowError) -> QueryAnswer {
        throw SkyrowError(.overloaded, "The service is not ready.")
    }
}
