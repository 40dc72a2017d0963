import SkyrowMaintenance
import SkyrowModel
import SkyrowPostgres
import SkyrowProtocol
import SkyrowQuery
import SkyrowTestSupport
import Testing

@testable import SkyrowStore

/// Tables whose text is ordered by the rules of a language: answered rightly, found, and converted.
@Suite(.timeLimit(.minutes(60))) struct TextOrderTests {
    /// A database of a language with a type as an older version made it, and what hinders a conversion.
    private func withOldTable(_ body: @Sendable (RecordStore, TemporaryDatabase) async throws -> Void) async throws {
        try await withTemporaryDatabaseAndPsql { outer in
            let name = "\(outer.name)_sv"
            try await outer.psql(
                """
                CREATE DATABASE \(name) TEMPLATE template0 ENCODING 'UTF8' LOCALE_PROVIDER icu ICU_LOCALE 'sv' LOCALE 'C.UTF-8'
                """
            )
            let database = TemporaryDatabase(cluster: outer.cluster, name: name)
            try await withPostgresClient(database.url) { client in
                let store = RecordStore(client: client, schema: "app", mode: .development, logger: .quiet)
                try await store.prepare()
                try await database.psql(
                    """
                    SET search_path = app, app_internal;
                    SELECT _create_type('movie');
                    ALTER TABLE movie ADD title text, ADD nick text, ADD year bigint, ADD sequel text REFERENCES movie (_id);
                    DROP TRIGGER _tombstone_renamed ON movie;
                    ALTER TABLE movie ALTER _id TYPE text COLLATE "default";
                    CREATE TRIGGER _tombstone_renamed AFTER UPDATE OF _id ON movie FOR EACH ROW
                        WHEN (NEW._id <> OLD._id) EXECUTE FUNCTION _tombstone_renamed();
                    CREATE INDEX ON movie (title);
                    CREATE VIEW nicks AS SELECT nick FROM movie;
                    INSERT INTO movie (_id, title, sequel)
                    VALUES ('z', 'z', NULL), ('ö', 'ö', 'z'), ('Z', 'Z', 'z'), ('a', 'a', 'ö')
                    """
                )
                try await store.cache.reload()
                try await body(store, database)
            }
            try await outer.psql("DROP DATABASE \(name) WITH (FORCE)")
        }
    }

    private func findings(_ database: TemporaryDatabase) async throws -> [String: [DoctorFinding]] {
        let diagnoses = try await withPostgresClient(database.url) { configuration in
            configuration.searchPath = ["app"]
            configuration.sessionSettings["default_transaction_read_only"] = "on"
        } _: { client in
            try await DoctorRun(client: client, schema: "app", limits: DoctorLimits(), now: { 0 }, logger: .quiet)(
                [.textOrder, .textFolding]
            )
        }
        return Dictionary(uniqueKeysWithValues: diagnoses.map { ($0.check, $0.findings) })
    }

    private func answers(_ store: RecordStore) async throws -> [[String]] {
        let movie = type("movie")
        let queries = [
            RecordQuery(type: movie, sort: [SortKey(path("title"))]),
            RecordQuery(type: movie),
            RecordQuery(type: movie, predicate: .compare(.gt, "title", .string("a"))),
            RecordQuery(type: movie, predicate: .compare(.ilike, "title", .string("Ö"))),
            RecordQuery(type: movie, sort: [SortKey(path("sequel.title"), .descending), SortKey(path("title"))]),
        ]
        var answers: [[String]] = []
        for query in queries {
            answers.append(
                try await store.query(query, in: .everyone, caller: .ann).records.map { $0.collected()?.id.id ?? "" }
            )
        }
        return answers
    }

    @Test func theOrderIsThatOfBytesBeforeAndAfterTheConversion() async throws {
        try await withOldTable { store, database in
            let expected = [["Z", "a", "z", "ö"], ["Z", "a", "z", "ö"], ["z", "ö"], ["ö"], ["z", "a", "Z", "ö"]]
            #expect(try await answers(store) == expected)

            let found = try await findings(database)
            #expect(found["text-folding"] == [])
            #expect(found["text-order"]?.count == 1)
            #expect(found["text-order"]?.first?.what.contains("_id, title, nick, sequel") == true)
            #expect(found["text-order"]?.first?.commands == ["SELECT _order_by_bytes('movie');"])

            let document = try await store.schemaDocument()
            let report = try await store.compareSchema(with: document)
            try await store.applySchema(document, expecting: report.difference, repairing: true, allowingLoss: false)
            try await store.cache.reload()
            #expect(try await answers(store) == expected)
            // The view keeps one column as it is.
            #expect(try await findings(database)["text-order"]?.first?.what.hasSuffix(": nick.") == true)
            let table = try #require(store.cache.current[type("movie")])
            #expect(table[field("title")]?.collation == .bytes && table[field("nick")]?.collation == .database)
            #expect(table.reservedCollations.isEmpty)
            let triggers = "SELECT count(*) FROM pg_trigger WHERE tgrelid = 'app.movie'::regclass AND NOT tgisinternal"
            #expect(try await database.psql(triggers) == "6")
            #expect(
                try await database.psql(
                    "UPDATE app.movie SET _id = 'b' WHERE _id = 'a'; SELECT id FROM app_internal._tombstone"
                ).hasSuffix("a")
            )
        }
    }

    @Test func aNewTableIsOrderedByBytesInEveryDatabase() async throws {
        try await withOldTable { store, database in
            let link: RecordValue = .reference(id("movie/z"))
            let review = draft("review/1", ["text": .string("x"), "movie": link])
            try await store.createMissingSchema(for: [review])
            let saved = try await store.save([.draft(review)], in: .everyone, caller: .ann, atomic: false)
            #expect(saved[0].error == nil)
            let others = """
                SELECT count(*) FROM pg_attribute WHERE attrelid = 'app.review'::regclass AND attnum > 0
                AND atttypid = 'text'::regtype AND attcollation <> 'pg_catalog."C"'::regcollation
                """
            #expect(try await database.psql(others) == "0")
            // The new reference finds the record by the index of ids of the older collation; in a table of a few rows any
            // index would do.
            try await database.psql(
                "INSERT INTO app.movie (_id) SELECT 'm' || n FROM generate_series(1, 5000) AS n; ANALYZE app.movie"
            )
            let query = RecordQuery(type: type("review"), include: [Inclusion(name: "m", keyPath: path("movie"))])
            let table = try #require(store.cache.current[type("review")])
            let statement = try QueryStatement(
                query,
                table: table,
                catalog: store.cache.current,
                access: RecordAccess(.ann, for: .reading)
            )
            let plan = try await store.client.withTransaction { transaction in
                _ = try await transaction.query("SET LOCAL enable_seqscan = off")
                _ = try await transaction.query("SET LOCAL enable_hashjoin = off")
                return try await transaction.query("EXPLAIN \(statement.sql)").decodeColumn(0, as: String.self)
            }
            #expect(plan.joined(separator: "\n").contains("movie_pkey"), "\(plan)")
            let record = try await store.query(query, in: .everyone, caller: .ann).records[0].collected()
            #expect((record?.transient["m"] ?? nil)?.id == id("movie/z"))
        }
    }
}
