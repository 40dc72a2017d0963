/// Notes what statements that change the schema do to a table while they keep others from it.
///
/// An event trigger looks after each such statement at the locks of its transaction and at how many rows of the table it has read
/// since its first.
package struct LockWatch {
    private let fixture: StoreFixture
    private let table: String

    /// Begins to watch, on a database that the test's role is a superuser of.
    package init(_ table: String, in fixture: StoreFixture) async throws {
        self.fixture = fixture
        self.table = table
        try await fixture.psql(
            """
            CREATE SCHEMA watch;
            CREATE TABLE watch.seen (command text, mode text, rows bigint);
            CREATE FUNCTION watch.mark() RETURNS event_trigger LANGUAGE plpgsql AS $$
            BEGIN
                IF coalesce(current_setting('watch.base', true), '') = '' THEN
                    PERFORM set_config('watch.base', coalesce(pg_stat_get_xact_tuples_returned(to_regclass('app.\(table)')), 0)::text, true);
                END IF;
            END $$;
            CREATE FUNCTION watch.look() RETURNS event_trigger LANGUAGE plpgsql AS $$
            BEGIN
                INSERT INTO watch.seen
                SELECT TG_TAG, mode, pg_stat_get_xact_tuples_returned(relation) - current_setting('watch.base')::bigint
                FROM pg_locks
                WHERE pid = pg_backend_pid() AND relation = to_regclass('app.\(table)') AND granted;
            END $$;
            CREATE EVENT TRIGGER watch_mark ON ddl_command_start EXECUTE FUNCTION watch.mark();
            CREATE EVENT TRIGGER watch_look ON ddl_command_end EXECUTE FUNCTION watch.look();
            """
        )
    }

    /// The statements that read at least so many rows in a transaction which kept readers or writers from the table.
    package func blocking(rows: Int) async throws -> String {
        try await fixture.psql(
            """
            SELECT DISTINCT command || ' ' || mode FROM watch.seen
            WHERE rows >= \(rows) AND mode IN ('ShareLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock') ORDER BY 1
            """
        )
    }

    /// Whether anything was seen, and the file that the table is in.
    package func file() async throws -> String {
        try await fixture.psql("SELECT pg_relation_filenode('\(table)')")
    }
}

/// Notes how many record tables each transaction that changes the schema keeps from readers or writers.
package struct TransactionWatch {
    private let fixture: StoreFixture

    /// Begins to watch, on a database that the test's role is a superuser of.
    package init(in fixture: StoreFixture) async throws {
        self.fixture = fixture
        try await fixture.psql(
            """
            CREATE SCHEMA crowd;
            CREATE TABLE crowd.seen (transaction text, tables bigint);
            CREATE FUNCTION crowd.look() RETURNS event_trigger LANGUAGE plpgsql AS $$
            BEGIN
                INSERT INTO crowd.seen
                SELECT pg_current_xact_id()::text, count(DISTINCT relation)
                FROM pg_locks JOIN pg_class ON pg_class.oid = relation
                WHERE pid = pg_backend_pid() AND granted AND relkind IN ('r', 'p') AND relnamespace = 'app'::regnamespace
                    AND mode IN ('ShareLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock')
                    AND NOT starts_with(relname, '_');
            END $$;
            CREATE EVENT TRIGGER crowd_look ON ddl_command_end EXECUTE FUNCTION crowd.look();
            """
        )
    }

    package func clear() async throws {
        try await fixture.psql("TRUNCATE crowd.seen")
    }

    /// How many transactions were seen, and how many tables one of them kept from others at most.
    package func seen() async throws -> (transactions: Int, tables: Int) {
        let counts = try await fixture.psql(
            "SELECT count(DISTINCT transaction), coalesce(max(tables), 0) FROM crowd.seen"
        )
        .split(separator: "|").compactMap { Int($0) }
        return (counts.first ?? 0, counts.last ?? 0)
    }
}
