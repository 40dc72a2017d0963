import Logging
package import SkyrowModel
package import SkyrowPostgres
import SkyrowProtocol
package import SkyrowStore

/// A store on a temporary database, with the types of ``SchemaCatalog/notes`` and the users ann and bob.
package struct RecordsFixture {
    /// The only file.
    package static let photo = asset("cat.png")

    /// A value for each field of a note.
    package static let everyValue: [String: RecordValue] = [
        "title": .string("Milch \u{1F95B} 'quoted' \"x\" \\ \u{1}"),
        "stars": .integer(9_007_199_254_740_993),
        "score": .number(0.1),
        "done": .boolean(false),
        "due": .datetime(Timestamp(microseconds: 602_942_400_123_456)),
        "tags": .json(JSONText(validated: Array(#"["a", {"$date": "2019-03-01T09:00:00Z", "$type": "date"}]"#.utf8))),
        "data": .bytes([0, 1, 255]),
        "category": .reference(id("category/home")),
        "photo": .asset(photo),
        "serial": .integer(77),
    ]

    package let store: RecordStore
    package let client: PostgresClient
    package let database: TemporaryDatabase

    @discardableResult
    package func psql(_ statements: String) async throws -> String {
        try await database.psql(
            "SET search_path = app, app_internal; SET client_min_messages = warning;\n" + statements
        )
    }

    /// Saves records of one caller. Fails the test if one is refused.
    @discardableResult
    package func save(
        _ drafts: [RecordDraft],
        _ caller: Caller = .ann,
        in scope: DatabaseScope = .everyone
    ) async throws -> [Record] {
        try await store.save(drafts.map { .draft($0) }, in: scope, caller: caller, atomic: false).map { try $0.record }
    }

    @discardableResult
    package func save(
        _ id: String,
        _ fields: [String: RecordValue] = [:],
        access: AccessList? = nil,
        _ caller: Caller = .ann,
        in scope: DatabaseScope = .everyone
    ) async throws -> Record {
        try await save([draft(id, fields, access: access)], caller, in: scope)[0]
    }

    package func fetch(_ id: String, _ caller: Caller = .ann, in scope: DatabaseScope = .everyone) async throws
        -> Record?
    {
        let outcome = try await store.fetch([try RecordID(id)], in: scope, caller: caller)[0]
        if case .failure(let error, _) = outcome, error.code == .resourceNotFound { return nil }
        return try outcome.record
    }

    /// Returns the ids of a query's results, in order.
    package func query(
        _ predicate: Predicate? = nil,
        type name: String = "note",
        _ caller: Caller = .ann,
        in scope: DatabaseScope = .everyone,
        _ change: (inout RecordQuery) -> Void = { _ in }
    ) async throws -> [String] {
        var query = RecordQuery(type: type(name), predicate: predicate)
        change(&query)
        return try await store.query(query, in: scope, caller: caller).records.map { $0.collected()?.id.id ?? "?" }
    }
}

/// Returns a draft to save.
package func draft(
    _ id: String,
    _ fields: [String: RecordValue] = [:],
    access: AccessList? = nil,
    precondition: SavePrecondition? = nil
) -> RecordDraft {
    RecordDraft(
        id: try! RecordID(id),
        access: access,
        fields: fields.sorted { $0.key < $1.key }.map { (field($0.key), $0.value) },
        precondition: precondition
    )
}

/// An outcome that is not the record that a test expected.
package struct UnexpectedOutcome: Error {
    package var error: SkyrowError?

    package init(error: SkyrowError? = nil) {
        self.error = error
    }
}

extension RecordOutcome {
    package var record: Record {
        get throws {
            switch self {
            case .record(let source):
                guard let record = source.collected() else { throw UnexpectedOutcome() }
                return record
            case .failure(let error, _): throw UnexpectedOutcome(error: error)
            case .deleted: throw UnexpectedOutcome()
            }
        }
    }

    package var error: SkyrowError? {
        switch self {
        case .failure(let error, _): error
        case .record, .deleted: nil
        }
    }

    package var isDeleted: Bool {
        switch self {
        case .deleted: true
        case .record, .failure: false
        }
    }
}

/// - Parameter template: The database in place of the usual one, made by ``DatabaseTemplate/records(with:_:)``.
package func withRecords(
    template: DatabaseTemplate? = nil,
    on cluster: TemporaryCluster? = nil,
    test: String = #function,
    configure: (inout PostgresConfiguration) -> Void = { _ in },
    _ body: @escaping @Sendable (RecordsFixture) async throws -> Void
) async throws {
    try await withTemporaryDatabaseAndPsql(template: template ?? .records, on: cluster, test: test) { database in
        try await withRecordStore(database.url, configure: configure) { store in
            try await body(RecordsFixture(store: store, client: store.client, database: database))
        }
    }
}

/// Runs a client and a store during `body`.
private func withRecordStore(
    _ url: String,
    configure: (inout PostgresConfiguration) -> Void = { _ in },
    _ body: @escaping @Sendable (RecordStore) async throws -> Void
) async throws {
    try await withPostgresClient(url, configure: configure) { client in
        let store = RecordStore(
            client: client,
            schema: "app",
            mode: .development,
            rulesPatience: testPatience,
            logger: .silent
        )
        try await store.prepare()
        try await body(store)
    }
}

extension DatabaseTemplate {
    /// Makes a template of the database of ``RecordsFixture``, with more in it.
    package static func records(
        with more: String,
        _ prepare: @escaping @Sendable (RecordStore) async throws -> Void
    ) -> DatabaseTemplate {
        DatabaseTemplate(key: "records with \(more)") { url in
            try await records.prepare(url)
            try await withRecordStore(url, prepare)
        }
    }

    fileprivate static let records = DatabaseTemplate(key: "records") { url in
        try await withRecordStore(url) { store in
            try await store.client.withTransaction { transaction in
                try await transaction.executeScript(
                    """
                    SET LOCAL search_path = app, app_internal, pg_temp;
                    SELECT _create_type('category');
                    ALTER TABLE category ADD name text, ADD rank bigint;
                    SELECT _create_type('note');
                    ALTER TABLE note ADD title text, ADD stars bigint, ADD score double precision, ADD done boolean,
                        ADD due timestamptz, ADD tags jsonb, ADD data bytea, ADD price money,
                        ADD serial bigserial,
                        ADD category text REFERENCES category (_id) DEFERRABLE,
                        ADD next text REFERENCES note (_id) DEFERRABLE,
                        ADD photo text COLLATE "C" REFERENCES _asset (name) DEFERRABLE;
                    CREATE INDEX ON note (stars);
                    INSERT INTO "user" (_id, username, _owner) VALUES ('ann', 'ann', 'ann'), ('bob', 'bob', 'bob');
                    INSERT INTO _user (id) VALUES ('ann'), ('bob');
                    \(SQL(trustedText: insertion(of: [RecordsFixture.photo])))
                    """
                )
            }
        }
    }
}
