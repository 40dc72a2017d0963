import SkyrowModel
import SkyrowTestSupport
import Testing

@testable import SkyrowMaintenance
@testable import SkyrowPostgres
@testable import SkyrowStore

/// The files that a database login may put into records: those that its user uploaded, and those without an uploader.
@Suite(.timeLimit(.minutes(60))) struct PolicyFileTests {
    private static func file(_ number: Int) -> String { "0f5c9d3e-7135-4912-a6c9-00000000000\(number)-a.png" }

    /// Of ann, of bob, without an uploader, announced by ann, and one that does not exist.
    private static let files = """
        INSERT INTO _asset (name, filename, content_type, size, state, owner, stored_at, expires_at) VALUES
            ('\(file(1))', 'a', 'a/b', 1, 'stored', 'ann', now(), NULL), ('\(file(2))', 'a', 'a/b', 1, 'stored', 'bob', now(), NULL),
            ('\(file(3))', 'a', 'a/b', 1, 'stored', NULL, now(), NULL), ('\(file(4))', 'a', 'a/b', 1, 'expected', 'ann', NULL, now());
        SELECT _create_type('card');
        ALTER TABLE card ADD title text COLLATE "C", ADD poster text COLLATE "C" REFERENCES _asset (name) DEFERRABLE;
        INSERT INTO card (_id, _owner, poster) VALUES ('a', 'ann', NULL), ('b', 'ann', '\(file(2))');
        """

    @Test func aLoginUsesFilesOfItsUserAndOfNoOne() async throws {
        try await withPolicies { f in
            try await f.psql(Self.files)
            try await f.store.cache.reload()
            try await f.apply()
            for (number, isOpen) in [(1, true), (2, false), (3, true), (4, false), (5, false)] {
                let insertion = "INSERT INTO card (_id, poster) VALUES ('new \(number)', '\(Self.file(number))')"
                let update = "UPDATE card SET poster = '\(Self.file(number))' WHERE _id = 'a'"
                if isOpen {
                    try await f.sql("ann", insertion)
                    try await f.sql("ann", update)
                } else {
                    // A file of another user and one that does not exist are refused alike.
                    #expect(try await f.refusal("ann", insertion).contains("row-level security"))
                    #expect(try await f.refusal("ann", update).contains("You may not set poster"))
                }
            }
            // A record keeps the file that it has.
            try await f.sql("ann", "UPDATE card SET title = 'x', poster = poster WHERE _id = 'b'")
            try await f.sql("ann", "UPDATE card SET poster = NULL WHERE _id = 'b'")
            #expect(try await f.refusal("ann", "SELECT * FROM app_internal._asset").contains("permission denied"))
            #expect(try await f.refusal("ann", "SELECT * FROM _assets").contains("permission denied"))
            #expect(try await f.differences().isEmpty)
        }
    }
}
