import SkyrowModel
import SkyrowPostgres
import SkyrowProtocol
import SkyrowTestSupport
import Testing

@testable import SkyrowStore

/// What a role, a database or `postgresql.conf` says of sessions is not what the service's statements depend on.
@Suite struct SessionSettingTests {
    private static let unusual = [
        "array_nulls": "off", "bytea_output": "escape", "check_function_bodies": "off", "client_encoding": "LATIN1",
        "DateStyle": "German, DMY", "default_transaction_deferrable": "on",
        "default_transaction_isolation": "serializable", "extra_float_digits": "-15", "gin_fuzzy_search_limit": "1",
        "IntervalStyle": "sql_standard", "lock_timeout": "1ms", "quote_all_identifiers": "on", "row_security": "off",
        "search_path": "nowhere", "standard_conforming_strings": "off", "statement_timeout": "1ms",
        "TimeZone": "Asia/Kathmandu", "transform_null_equals": "on", "xmloption": "document",
    ]

    @Test func settingsOfADatabaseChangeNothing() async throws {
        try await withTemporaryDatabaseAndPsql { database in
            let settings = Self.unusual.map { "ALTER DATABASE \(database.name) SET \($0.key) = '\($0.value)';" }
            try await database.psql(settings.joined(separator: "\n"))
            try await withPostgresClient(database.url) { client in
                let store = RecordStore(client: client, schema: "app", mode: .development, logger: .silent)
                try await store.prepare()
                _ = try await client.write("INSERT INTO app.\"user\" (_id, _owner) VALUES ('ann', 'ann')")
                _ = try await client.write("INSERT INTO app_internal._user (id) VALUES ('ann')")
                var values = RecordsFixture.everyValue
                values["category"] = nil
                values["photo"] = nil
                values["serial"] = nil
                values["place"] = .location(try Location(latitude: -2.5, longitude: 1.234_567_890_123_45))
                let drafts = [draft("note/1", values), draft("note/2", ["title": .string("other")])]
                // Once more with the catalogue as it is read.
                for _ in 0..<2 {
                    try await store.createMissingSchema(for: drafts)
                    let saved = try await store.save(
                        drafts.map { .draft($0) },
                        in: .everyone,
                        caller: .ann,
                        atomic: false
                    )
                    for outcome in saved { _ = try outcome.record }
                    try await store.cache.reload()
                }
                let record = try await store.fetch([id("note/1")], in: .everyone, caller: .ann)[0].record
                for (name, value) in values { #expect(record.fields[field(name)] == value, "\(name)") }
                for name in ["title", "due", "score"] {
                    let value = try #require(values[name])
                    let query = RecordQuery(type: type("note"), predicate: .compare(.eq, name, value))
                    let found = try await store.query(query, in: .everyone, caller: .ann).records
                    #expect(found.map { $0.collected()?.id.id } == ["1"], "\(name)")
                }
            }
        }
    }
}
