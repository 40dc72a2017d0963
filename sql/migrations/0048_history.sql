-- Which history a change token is of (Documentation/Decisions/0095-put-back.md).

ALTER TABLE _meta
    ADD COLUMN start_id bigint NOT NULL DEFAULT ('x' || left(replace(gen_random_uuid()::text, '-', ''), 16))::bit(64)::bigint,
    ADD COLUMN former_starts bigint[] NOT NULL DEFAULT '{}',
    ADD COLUMN former_ends bigint[] NOT NULL DEFAULT '{}',
    ADD COLUMN home_table oid NOT NULL DEFAULT 0;
COMMENT ON COLUMN _meta.start_id IS 'Drawn anew with every start of PostgreSQL; change tokens name it.';
COMMENT ON COLUMN _meta.former_starts IS 'Those before this one of which it is known where they ended, 256 at most.';
COMMENT ON COLUMN _meta.former_ends IS
    'Where the write-ahead log of each of these ended: a token from beyond that is of a history that this database never had.';
COMMENT ON COLUMN _meta.home_table IS 'The number of this table; another one tells that the database was restored from a dump.';

CREATE OR REPLACE FUNCTION _set_revision_offset(new_offset bigint) RETURNS void LANGUAGE plpgsql
SET search_path FROM CURRENT AS $$
DECLARE
    this_transaction bigint := pg_current_xact_id()::text::bigint;
    -- What this transaction would stamp, and others do until they see the new offset: for some time, also of ids to come.
    present_offset bigint := _revision() - this_transaction;
    until bigint := this_transaction + 65536;
    oldest bigint := pg_snapshot_xmin(pg_current_snapshot())::text::bigint;
    home _meta := (SELECT meta FROM _meta AS meta);
    former_offsets bigint[] := '{}';
    former_until bigint[] := '{}';
    system bigint := (SELECT control.system_identifier FROM pg_control_system() AS control);
BEGIN
    IF home.system_identifier = system THEN
        -- A prepared transaction outlives starts.
        SELECT coalesce(array_agg(former.revision_offset ORDER BY former.place), '{}'),
            coalesce(array_agg(former.until ORDER BY former.place), '{}')
        INTO former_offsets, former_until
        FROM unnest(home.former_offsets, home.former_until) WITH ORDINALITY AS former (revision_offset, until, place)
        WHERE former.until > oldest;
        IF home.revision_offset NOT IN (new_offset, present_offset) THEN
            -- Of what used that one, prepared transactions alone are left.
            former_offsets := former_offsets || home.revision_offset;
            former_until := former_until || this_transaction;
        END IF;
    END IF;
    IF present_offset <> new_offset THEN
        former_offsets := former_offsets || present_offset;
        former_until := former_until || until;
    END IF;
    EXECUTE format(
        'CREATE OR REPLACE FUNCTION _revision() RETURNS bigint LANGUAGE sql STABLE '
        'RETURN pg_current_xact_id()::text::bigint + CASE WHEN pg_postmaster_start_time() = %1$L::timestamptz THEN %2$L::bigint '
        'ELSE greatest(%2$L::bigint + (((pg_current_xact_id()::text::bigint + 2147483648) >> 32) + 1 << 32), '
        '(extract(epoch FROM pg_postmaster_start_time()) * 1000)::bigint - 1577836800000 << 11) END',
        pg_postmaster_start_time(), new_offset
    );
    INSERT INTO _meta (system_identifier, revision_offset, timeline, started_at, former_offsets, former_until, home_table)
    VALUES (
        system, new_offset, ('x' || left(pg_walfile_name(pg_current_wal_insert_lsn()), 8))::bit(32)::bigint,
        pg_postmaster_start_time(), former_offsets, former_until, '_meta'::regclass
    )
    ON CONFLICT (only_row) DO UPDATE
    SET system_identifier = EXCLUDED.system_identifier, revision_offset = EXCLUDED.revision_offset,
        timeline = EXCLUDED.timeline, started_at = EXCLUDED.started_at,
        former_offsets = EXCLUDED.former_offsets, former_until = EXCLUDED.former_until, home_table = EXCLUDED.home_table;
END $$;

CREATE OR REPLACE FUNCTION _move_revisions() RETURNS void LANGUAGE plpgsql
SET search_path FROM CURRENT AS $$
DECLARE
    home _meta;
    start_position bigint;
BEGIN
    PERFORM pg_advisory_xact_lock(1936423282, hashtext(current_schema()));
    SELECT * INTO home FROM _meta;
    IF home.home_table <> '_meta'::regclass OR home.system_identifier <> (SELECT system_identifier FROM pg_control_system()) THEN
        PERFORM _rebase_revisions();
    ELSIF home.started_at <> pg_postmaster_start_time() THEN
        PERFORM _set_revision_offset(_revision() - pg_current_xact_id()::text::bigint);
        -- The first checkpoint of a start is where the log of the start before has ended, and what is beyond it was never in this
        -- database. A later one begins before its own record.
        SELECT checkpoint_lsn - '0/0'::pg_lsn INTO start_position FROM pg_control_checkpoint()
        WHERE checkpoint_lsn = redo_lsn AND current_setting('wal_level') <> 'minimal';
        UPDATE _meta
        SET start_id = DEFAULT,
            former_starts = CASE WHEN start_position IS NULL THEN '{}' ELSE (former_starts || home.start_id)[greatest(cardinality(former_starts) - 254, 1):] END,
            former_ends = CASE WHEN start_position IS NULL THEN '{}' ELSE (former_ends || start_position)[greatest(cardinality(former_ends) - 254, 1):] END;
    END IF;
END $$;

CREATE OR REPLACE FUNCTION _rebase_revisions() RETURNS void LANGUAGE plpgsql
SET search_path FROM CURRENT AS $$
DECLARE
    record_table regclass;
    highest bigint := coalesce((SELECT max(revision) FROM _tombstone), 0);
    highest_here bigint;
BEGIN
    FOR record_table IN
        SELECT attrelid
        FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid
        WHERE attname = '_revision' AND atttypid = 'bigint'::regtype AND NOT attisdropped
            AND relkind IN ('r', 'p') AND relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = current_schema())
    LOOP
        EXECUTE format('SELECT coalesce(max(_revision), 0) FROM %s', record_table) INTO highest_here;
        highest := greatest(highest, highest_here);
    END LOOP;
    -- Above what another database has stamped since, too, of which this one is a copy.
    PERFORM _set_revision_offset(
        greatest((highest >> 32) + 1 << 32, (extract(epoch FROM clock_timestamp()) * 1000)::bigint - 1577836800000 << 11)
        - pg_current_xact_id()::text::bigint
    );
    UPDATE _meta SET history = gen_random_uuid(), start_id = DEFAULT, former_starts = '{}', former_ends = '{}';
END $$;

-- Transactions that run meanwhile stamp with the same offset.
SELECT _set_revision_offset(revision_offset) FROM _meta;
