import SkyrowModel
import SkyrowPostgres
import SkyrowProtocol
import SkyrowTestSupport
import Testing

@testable import SkyrowStore

/// What there is and was of the type `note`, kept by PostgreSQL itself, and who may read it, in words of the test's own.
struct FeedWitness {
    /// A state of a record.
    struct Version: Hashable, Sendable {
        var id: String
        var title: String?
        var stars: Int64?
        var owner: String?
        /// The keys of the list; nil where there is none.
        var access: Set<String>?

        /// Whether a caller may read it: the master key, no list, the owner, an entry that names the caller.
        func isReadable(by caller: Caller) -> Bool {
            if caller.isMaster { return true }
            guard let access else { return true }
            if access.contains("public") { return true }
            guard let user = caller.userID?.rawValue else { return false }
            return owner == user || access.contains("user:\(user)") || access.contains("users")
        }

        /// What a client has of it.
        var content: Content { Content(id: id, title: title, stars: stars) }
    }

    struct Content: Hashable, Sendable {
        var id: String
        var title: String?
        var stars: Int64?
    }

    private let fixture: RecordsFixture

    /// Has every version of a record be kept that is committed.
    init(_ fixture: RecordsFixture) async throws {
        self.fixture = fixture
        try await fixture.psql(
            """
            CREATE TABLE public.version (id text, title text, stars bigint, owner text, access text[]);
            CREATE FUNCTION public.keep() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                INSERT INTO public.version VALUES (NEW._id, NEW.title, NEW.stars, NEW._owner,
                    CASE WHEN NEW._access IS NOT NULL THEN ARRAY(SELECT jsonb_object_keys(NEW._access)) END);
                RETURN NEW;
            END $$;
            CREATE TRIGGER keep AFTER INSERT OR UPDATE ON note FOR EACH ROW EXECUTE FUNCTION public.keep();
            """
        )
    }

    /// All that is there.
    func present() async throws -> [Version] {
        try await versions(
            """
            SELECT _id, title, stars, _owner,
                CASE WHEN _access IS NOT NULL THEN ARRAY(SELECT jsonb_object_keys(_access)) END FROM app.note
            """
        )
    }

    /// All that was ever there.
    func past() async throws -> [Version] {
        try await versions("SELECT DISTINCT id, title, stars, owner, access FROM public.version")
    }

    private func versions(_ question: SQL) async throws -> [Version] {
        let result = try await fixture.client.read(question)
        return try (0..<result.rowCount).map { row in
            Version(
                id: try result.decode(row: row, column: 0),
                title: try result.decode(row: row, column: 1),
                stars: try result.decode(row: row, column: 2),
                owner: try result.decode(row: row, column: 3),
                access: try result.decode(row: row, column: 4, as: [String]?.self).map { Set($0) }
            )
        }
    }
}

/// A client of the feed, all that it ever got, and what it should hold.
struct WatchedReader {
    let caller: Caller
    let title: String?
    var reader: FeedReader
    private(set) var received: Set<FeedWitness.Content> = []
    private(set) var named: Set<String> = []
    private(set) var pages = 0

    /// - Parameter title: that of the records that match; nil for all of them.
    init(_ fixture: RecordsFixture, _ caller: Caller, title: String? = nil) {
        self.caller = caller
        self.title = title
        reader = FeedReader(fixture.store, caller, predicate: title.map { .compare(.eq, "title", .string($0)) })
        reader.limit = 3
    }

    /// Reads a page, again where the database is away; returns whether the pass is over.
    mutating func readPage() async throws -> Bool {
        let deadline = ContinuousClock.now + patience
        while true {
            do {
                let isOver = try await reader.readPage()
                note()
                return isOver
            } catch let error as SkyrowError where ContinuousClock.now < deadline {
                guard [.overloaded, .outcomeUnknown, .unexpectedUnableToOpenDatabase].contains(error.code) else {
                    throw error
                }
                try await Task.sleep(for: .milliseconds(20))
            }
        }
    }

    mutating func catchUp() async throws {
        while try await !readPage() {}
    }

    private mutating func note() {
        pages += 1
        named.formUnion(reader.last.removed.map { String($0.dropFirst("note/".count)) })
        for record in reader.last.changed.compactMap({ $0.collected() }) { received.insert(record.content) }
        #expect(reader.last.reset == nil)
    }

    var held: Set<FeedWitness.Content> { Set(reader.held.values.map(\.content)) }

    func expected(of present: [FeedWitness.Version]) -> Set<FeedWitness.Content> {
        Set(present.filter { $0.isReadable(by: caller) && (title == nil || $0.title == title) }.map(\.content))
    }

    /// Expects that nothing was ever sent that the caller could not have read, not even an id.
    func expectNothingForbidden(in past: [FeedWitness.Version], _ seed: UInt64) {
        let readable = past.filter { $0.isReadable(by: caller) }
        let contents = Set(readable.map(\.content))
        #expect(received.isSubset(of: contents), "seed \(seed), \(caller): \(received.subtracting(contents))")
        let ids = Set(readable.map(\.id))
        #expect(named.isSubset(of: ids), "seed \(seed), \(caller): \(named.subtracting(ids))")
    }
}

extension Record {
    fileprivate var content: FeedWitness.Content {
        var content = FeedWitness.Content(id: id.id)
        if case .string(let title) = self["title"] { content.title = title }
        if case .integer(let stars) = self["stars"] { content.stars = stars }
        return content
    }
}

/// A client that asks for what is greater than the last number that it has seen: what every clock and sequence amounts to.
struct NumberReader {
    private let fixture: RecordsFixture
    private var highest: Int64 = 0
    private var held: [String: FeedWitness.Content] = [:]
    /// How often it held something else than what was there.
    private(set) var failures = 0

    init(_ fixture: RecordsFixture) {
        self.fixture = fixture
    }

    /// Reads all that is new, and compares.
    mutating func catchUp(_ present: [FeedWitness.Version]) async throws {
        let graves = try await fixture.client.read(
            "SELECT id, revision FROM app_internal._tombstone WHERE type = 'note' AND kind = 'd' AND revision > \(highest)"
        )
        let rows = try await fixture.client.read(
            "SELECT _id, title, stars, _revision FROM app.note WHERE _revision > \(highest)"
        )
        for row in 0..<graves.rowCount {
            held[try graves.decode(row: row, column: 0)] = nil
            highest = max(highest, try graves.decode(row: row, column: 1))
        }
        for row in 0..<rows.rowCount {
            let id = try rows.decode(row: row, column: 0, as: String.self)
            held[id] = FeedWitness.Content(
                id: id,
                title: try rows.decode(row: row, column: 1),
                stars: try rows.decode(row: row, column: 2)
            )
            highest = max(highest, try rows.decode(row: row, column: 3))
        }
        if Set(held.values) != Set(present.map(\.content)) { failures += 1 }
    }
}
