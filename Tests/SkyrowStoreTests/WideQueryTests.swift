import SkyrowModel
import SkyrowTestSupport
import Testing

@testable import SkyrowPostgres
@testable import SkyrowStore

/// Queries of types with more columns together than a row of PostgreSQL has.
@Suite(.timeLimit(.minutes(60))) struct WideQueryTests {
    @Test func moreColumnsThanARowHasAreNoMatterOfValues() async throws {
        try await withStore { f in
            let columns = (0..<900).map { "ADD f\($0) bigint" }.joined(separator: ", ")
            try await f.psql(
                """
                SELECT _create_type('wide'), _create_type('other');
                ALTER TABLE wide \(columns); ALTER TABLE other \(columns);
                ALTER TABLE wide ADD other text REFERENCES other (_id) DEFERRABLE;
                INSERT INTO other (_id, f7) VALUES ('o', 7); INSERT INTO wide (_id, f3, other) VALUES ('w', 3, 'o')
                """
            )
            try await f.store.cache.reload()
            var query = RecordQuery(type: type("wide"), predicate: .compare(.eq, "other.f7", .integer(7)))
            // A key path takes no column of the result.
            #expect(try await f.store.query(query, in: .everyone, caller: .master).records.count == 1)
            query.include = [Inclusion(name: "other", keyPath: path("other"))]
            let error = await #expect(throws: SkyrowError.self) {
                _ = try await f.store.query(query, in: .everyone, caller: .master)
            }
            #expect(error?.code == .invalidArgument && error?.message.contains("1,664 columns") == true)
            query.desiredFields = ["f3"]
            let found = try await f.store.query(query, in: .everyone, caller: .master).records
            #expect(found.first?.collected()?.fields == [field("f3"): .integer(3)])
        }
    }
}
