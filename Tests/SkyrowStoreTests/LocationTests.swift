import SkyrowModel
import SkyrowProtocol
import SkyrowTestSupport
import Testing

@testable import SkyrowPostgres
@testable import SkyrowStore

/// A location is saved to a column of PostGIS, which is made when the first is saved.
@Suite(.timeLimit(.minutes(60))) struct LocationTests {
    private static let hongKong = try! Location(latitude: 22.28, longitude: 114.15)
    /// The poles, the meridian where the days change, a number that has no short spelling, and both zeros.
    private static let places = [
        hongKong,
        try! Location(latitude: 90, longitude: -180), try! Location(latitude: -90, longitude: 180),
        try! Location(latitude: 0.1 + 0.2, longitude: -1e-300), try! Location(latitude: -0.0, longitude: 0),
    ]

    private func save(_ store: RecordStore, _ drafts: [RecordDraft]) async throws -> [Record] {
        try await store.createMissingSchema(for: drafts)
        return try await store.save(drafts.map { .draft($0) }, in: .everyone, caller: .ann, atomic: false)
            .map { try $0.record }
    }

    private func fetch(_ store: RecordStore, _ ids: [String]) async throws -> [RecordValue?] {
        try await store.fetch(ids.map { id($0) }, in: .everyone, caller: .ann).map {
            try $0.record.fields[field("place")]
        }
    }

    @Test func itIsStoredAsAPointThatPsqlReads() async throws {
        try await withStore { f in
            // One alone, then several as arrays, over new rows and old ones.
            for part in [Self.places[..<1], Self.places[...], Self.places[...]] {
                let drafts = part.enumerated().map { draft("shop/\($0)", ["place": .location($1)]) }
                let saved = try await save(f.store, drafts)
                #expect(saved.map { $0.fields[field("place")] } == part.map { .location($0) })
                #expect(try await fetch(f.store, drafts.map(\.id.description)) == part.map { .location($0) })
            }
            #expect(
                try await f.psql(
                    """
                    SELECT format_type(atttypid, atttypmod), col_description(attrelid, attnum)
                    FROM pg_attribute WHERE attrelid = 'shop'::regclass AND attname = 'place'
                    """
                ) == "postgis.geography(Point,4326)|A point on the Earth: longitude and latitude in degrees of WGS 84."
            )
            #expect(
                try await f.psql("SELECT postgis.ST_AsText(place) FROM shop WHERE _id = '0'") == "POINT(114.15 22.28)"
            )
            // Kept, and then taken away.
            _ = try await save(f.store, [draft("shop/0", ["name": .string("x")])])
            #expect(try await fetch(f.store, ["shop/0"]) == [.location(Self.hongKong)])
            _ = try await save(f.store, [draft("shop/0", ["place": .null])])
            #expect(try await fetch(f.store, ["shop/0"]) == [nil])
        }
    }

    @Test func whatPsqlWritesIsRead() async throws {
        try await withStore { f in
            _ = try await save(f.store, [draft("shop/0", ["place": .location(Self.hongKong)])])
            try await f.psql(
                """
                INSERT INTO shop (_id, place) VALUES ('1', 'POINT(13.4 52.5)'), ('2', 'POINT EMPTY'), ('3', NULL);
                ALTER TABLE shop ADD area postgis.geography(Polygon,4326), ADD plane postgis.geometry(Point,4326),
                    ADD anything postgis.geography
                """
            )
            try await f.store.cache.reload()
            let berlin = try Location(latitude: 52.5, longitude: 13.4)
            #expect(try await fetch(f.store, ["shop/1", "shop/3"]) == [.location(berlin), nil])
            // Shown as one of an unknown type, so that a client that saves back what it read changes nothing.
            let empty = try await f.store.fetch([id("shop/2")], in: .everyone, caller: .ann)
            #expect(try empty[0].record.fields == [:])
            let types = f.store.cache.current[type("shop")]?.recordType.fields
            #expect(types?[field("place")] == .location)
            for other in ["area", "plane", "anything"] {
                guard case .unknown? = types?[field(other)] else {
                    Issue.record("\(other) is \(String(describing: types?[field(other)]))")
                    continue
                }
            }
        }
    }

    @Test func itTakesLocationsAloneAndIsEqualToThem() async throws {
        try await withStore { f in
            _ = try await save(
                f.store,
                [draft("shop/0", ["place": .location(Self.hongKong), "name": .string("x")]), draft("shop/1")]
            )
            for (name, value) in [
                ("place", RecordValue.json(JSONText(validated: Array("[1,2]".utf8)))),
                ("name", .location(Self.hongKong)),
            ] {
                let error = await #expect(throws: SkyrowError.self) {
                    try await save(f.store, [RecordDraft(id: id("shop/0"), fields: [(field(name), value)])])
                }
                #expect(error?.code == .incompatibleSchema)
            }
            let text = [draft("shop/0", ["place": .string("POINT(1 2)")])].map { SaveRequest.Item.draft($0) }
            let outcomes = try await f.store.save(text, in: .everyone, caller: .ann, atomic: false)
            #expect(outcomes[0].error?.code == .invalidArgument)
            func ids(_ predicate: Predicate) async throws -> [String] {
                let query = RecordQuery(type: type("shop"), predicate: predicate)
                return try await f.store.query(query, in: .everyone, caller: .ann).records
                    .compactMap { $0.collected()?.id.id }
            }
            #expect(try await ids(.compare(.eq, "place", .null)) == ["1"])
            #expect(try await ids(.compare(.neq, "place", .null)) == ["0"])
            #expect(try await ids(.compare(.eq, "place", .location(Self.hongKong))) == ["0"])
            #expect(try await ids(.compare(.neq, "place", .location(Self.places[1]))) == ["0"])
            for refused in [
                Predicate.compare(.eq, "place", .string("POINT(114.15 22.28)")), .compare(.lt, "place", .integer(1)),
                .compare(.eq, "name", .location(Self.hongKong)),
            ] {
                let error = await #expect(throws: SkyrowError.self) { try await ids(refused) }
                #expect(error?.code == .invalidArgument)
            }
            let sorted = RecordQuery(type: type("shop"), sort: [SortKey(path("place"))])
            let error = await #expect(throws: SkyrowError.self) {
                try await f.store.query(sorted, in: .everyone, caller: .ann)
            }
            #expect(error?.code == .recordQueryInvalid)
        }
    }

    @Test func whereTheExtensionCannotBeHadThatIsSaidAndNothingIsMade() async throws {
        try await withStore { f in
            try await f.psql(
                """
                CREATE FUNCTION public.refuse() RETURNS event_trigger LANGUAGE plpgsql AS
                    $$ BEGIN RAISE insufficient_privilege; END $$;
                CREATE EVENT TRIGGER refuse ON ddl_command_start WHEN TAG IN ('CREATE EXTENSION')
                    EXECUTE FUNCTION public.refuse()
                """
            )
            let drafts = [draft("shop/0", ["place": .location(Self.hongKong), "name": .string("x")])]
            let error = await #expect(throws: SkyrowError.self) { try await save(f.store, drafts) }
            #expect(
                error?.code == .invalidArgument && error?.message.contains("PostGIS, which is not installed") == true
            )
            #expect(try await f.psql("SELECT to_regclass('shop') IS NULL, to_regnamespace('postgis') IS NULL") == "t|t")
            // An administrator has made it since, in a schema of another name.
            try await f.psql(
                """
                DROP EVENT TRIGGER refuse; CREATE SCHEMA "Maps"; CREATE EXTENSION postgis SCHEMA "Maps"
                """
            )
            #expect(try await save(f.store, drafts).map { $0.fields[field("place")] } == [.location(Self.hongKong)])
        }
    }

    /// The script of the extension runs as a superuser, and so would a function of the name that the embedded PostgreSQL has.
    @Test func whatAnotherRoleHasPutInTheWayIsNotUsed() async throws {
        try await withStore { f in
            let role = "other_\(f.database.name.suffix(30))"
            try await f.psql(
                """
                CREATE ROLE \(role);
                CREATE SCHEMA skyrow_admin AUTHORIZATION \(role); CREATE SCHEMA postgis AUTHORIZATION \(role);
                CREATE TABLE public.trace (role text);
                SET ROLE \(role);
                CREATE FUNCTION skyrow_admin.create_postgis() RETURNS void LANGUAGE sql
                    AS $$ INSERT INTO public.trace VALUES (current_user) $$
                """
            )
            let drafts = [draft("shop/0", ["place": .location(Self.hongKong)])]
            let error = await #expect(throws: SkyrowError.self) { try await save(f.store, drafts) }
            #expect(error?.code == .invalidArgument)
            #expect(try await f.psql("SELECT count(*) FROM public.trace") == "0")
            try await f.psql("DROP SCHEMA postgis")
            #expect(try await save(f.store, drafts).map { $0.fields[field("place")] } == [.location(Self.hongKong)])
            #expect(try await f.psql("SELECT count(*) FROM public.trace") == "0")
            try await f.psql("DROP OWNED BY \(role); DROP ROLE \(role)")
        }
    }

    /// The lock table of PostgreSQL is shared by all its sessions: 6,400 locks with the stock settings.
    @Test func theExtensionTakesATenthOfTheLocks() async throws {
        try await withStore { f in
            let locks = try await f.psql(
                """
                SET client_min_messages = warning;
                BEGIN;
                CREATE SCHEMA postgis;
                CREATE EXTENSION postgis SCHEMA postgis;
                SELECT count(*) FROM pg_locks WHERE pid = pg_backend_pid();
                ROLLBACK
                """
            )
            #expect(try #require(Int(locks)) < 640)
        }
    }
}

@Suite struct LocationBytesTests {
    /// `SELECT 'POINT(114.15 22.28)'::geography::bytea` of PostGIS 3.3, and the same with the most significant byte first.
    @Test(arguments: [
        "0101000020e61000009a99999999895c4048e17a14ae473640",
        "0020000001000010e6405c89999999999a403647ae147ae148",
    ])
    func bothOrdersOfBytesAreRead(hexadecimal: String) throws {
        let bytes = bytes(hexadecimal)
        let location = bytes.withUnsafeBytes { Location(ewkb: $0) }
        #expect(location == (try Location(latitude: 22.28, longitude: 114.15)))
        #expect(bytes[0] == 0 || location?.ewkb == bytes)
    }

    @Test(arguments: [
        "", "01", "0101000020e61000009a99999999895c4048e17a14ae4736",
        // An order of bytes that there is not, a line, another reference system, no number, and beyond the ranges.
        "0201000020e61000009a99999999895c4048e17a14ae473640", "0102000020e61000009a99999999895c4048e17a14ae473640",
        "0101000020e71000009a99999999895c4048e17a14ae473640", "0101000020e6100000000000000000f87f000000000000f87f",
        "0101000020e61000000000000000c066400000000000c06640",
    ])
    func whatIsNoLocationIsNone(hexadecimal: String) {
        #expect(bytes(hexadecimal).withUnsafeBytes { Location(ewkb: $0) } == nil)
    }

    private func bytes(_ hexadecimal: String) -> [UInt8] {
        let digits = Array(hexadecimal.utf8)
        return stride(from: 0, to: digits.count - 1, by: 2).map {
            UInt8(String(decoding: digits[$0...$0 + 1], as: UTF8.self), radix: 16)!
        }
    }
}
