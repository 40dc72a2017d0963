import SkyrowModel
import SkyrowTestSupport

@testable import SkyrowStore

/// A database with cards, which have files in two fields, inside of JSON and inside of arrays of JSON; with the users ann, bob and carl.
struct AssetFixture {
    let records: RecordsFixture

    var store: RecordStore { records.store }
    var assets: AssetTable { records.store.assets }

    @discardableResult
    func psql(_ statements: String) async throws -> String { try await records.psql(statements) }

    /// Makes the rows of stored files.
    func insert(_ files: [AssetName], owner: UserID? = nil) async throws {
        let owner = owner.map { "'\($0)'" } ?? "NULL"
        let rows = files.map { "('\($0)', '\($0.filename)', 'image/png', 3, 'stored', now(), \(owner))" }
        try await psql(
            """
            INSERT INTO _asset (name, filename, content_type, size, state, stored_at, owner)
            VALUES \(rows.joined(separator: ", "))
            """
        )
    }

    /// Has every mark be older.
    func pass(_ seconds: Int) async throws {
        try await psql("UPDATE _asset SET unreferenced_since = unreferenced_since - interval '\(seconds) s'")
    }

    /// The names in a table.
    func names(in table: String) async throws -> Set<String> {
        Set(try await psql("SELECT name FROM \(table)").split(separator: "\n").map(String.init))
    }

    /// The files that a caller may read and use.
    func open(_ files: [AssetName], to caller: Caller) async throws -> (
        readable: Set<AssetName>, usable: Set<AssetName>
    ) {
        var readable: Set<AssetName> = []
        for file in files where try await assets.readable(file, by: caller) != nil { readable.insert(file) }
        return (readable, try await assets.usable(Set(files), by: caller))
    }
}

/// The name of a file; different for each number.
func file(_ number: Int, _ filename: String = "a.png") -> AssetName {
    let digits = String(number, radix: 16)
    return AssetName(
        id: "0f5c9d3e-7135-4912-a6c9-" + String(repeating: "0", count: 12 - digits.count) + digits,
        filename: filename
    )
}

/// An object inside of JSON that names a file.
func nested(_ name: AssetName) -> String { #"{"$type": "asset", "$name": "\#(name)"}"# }

func withAssets(
    test: String = #function,
    _ body: @escaping @Sendable (AssetFixture) async throws -> Void
) async throws {
    try await withRecords(test: test) { records in
        let f = AssetFixture(records: records)
        try await f.psql(
            """
            DELETE FROM _asset;
            SELECT _create_type('card'), _create_type('safe');
            ALTER TABLE card ADD title text COLLATE "C", ADD members text[] COLLATE "C", ADD meta jsonb, ADD parts jsonb[],
                ADD poster text COLLATE "C" REFERENCES _asset (name) DEFERRABLE,
                ADD scan text COLLATE "C" REFERENCES _asset (name) DEFERRABLE;
            ALTER TABLE safe ADD deed text COLLATE "C" REFERENCES _asset (name) DEFERRABLE;
            CREATE INDEX ON card (poster) WHERE poster IS NOT NULL;
            CREATE INDEX ON card (scan) WHERE scan IS NOT NULL;
            CREATE INDEX ON safe (deed) WHERE deed IS NOT NULL;
            INSERT INTO "user" (_id, _owner) VALUES ('carl', 'carl');
            INSERT INTO _user (id) VALUES ('carl');
            """
        )
        try await f.store.cache.reload()
        try await body(f)
    }
}
