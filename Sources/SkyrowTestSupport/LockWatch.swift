/// Records what schema changes do to a table while they lock out other users.
///
/// After each schema change, an event trigger reads its transaction's locks, and the number of the table's rows read
/// since its first schema change.
package struct LockWatch {
    private let fixture: StoreFixture
    private let table: String

    /// Starts recording, on a database in which the test's role is a superuser.
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

    /// Returns the statements that read at least this many rows in a transaction that blocked readers or writers of the table.
    package func blocking(rows: Int) async throws -> String {
        try await fixture.psql(
            """
            SELECT DISTINCT command || ' ' || mode FROM watch.seen
            WHERE rows >= \(rows) AND mode IN ('ShareLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock') ORDER BY 1
            """
        )
    }

    /// Returns the file node of the table, which a rewrite changes.
    package func file() async throws -> String {
        try await fixture.psql("SELECT pg_relation_filenode('\(table)')")
    }
}

/// Records how many record tables each schema-changing transaction locks against readers or writers.
package struct TransactionWatch {
    private let fixture: StoreFixture

    /// Starts recording, on a database in which the test's role is a superuser.
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

    /// Returns the number of recorded transactions, and the highest number of tables that one of them locked.
    package func seen() async throws -> (transactions: Int, tables: Int) {
        let counts = try await fixture.psql(
            "SELECT count(DISTINCT transaction), coalesce(max(tables), 0) FROM crowd.seen"
        )
        .split(separator: "|").compactMap { Int($0) }
        return (counts.first ?? 0, counts.last ?? 0)
    }
}
