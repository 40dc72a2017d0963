-- Functions and triggers are named by what they do: _tombstone_deleted, _tombstone_truncated and _tombstone_renamed leave
-- tombstones, _install_event_triggers installs the event triggers. Comments say what they are in the manual's words.

ALTER FUNCTION _bury() RENAME TO _tombstone_deleted;
ALTER FUNCTION _bury_all() RENAME TO _tombstone_truncated;
ALTER FUNCTION _bury_renamed() RENAME TO _tombstone_renamed;
ALTER FUNCTION _watch_schema() RENAME TO _install_event_triggers;

DO $do$
DECLARE
    found record;
BEGIN
    FOR found IN
        SELECT tgrelid::regclass AS relation, tgname AS name, proname AS new_name
        FROM pg_trigger JOIN pg_proc AS code ON code.oid = tgfoid
        WHERE NOT tgisinternal AND pronamespace = current_schema()::regnamespace
            AND (tgname, proname) IN (
                ('_bury', '_tombstone_deleted'), ('_bury_all', '_tombstone_truncated'),
                ('_bury_renamed', '_tombstone_renamed')
            )
        ORDER BY 1, 2
    LOOP
        EXECUTE format('ALTER TRIGGER %I ON %s RENAME TO %I', found.name, found.relation, found.new_name);
    END LOOP;
    -- The rest of _create_type stays as it is, so only the names in its text change.
    EXECUTE replace(replace(replace(
        pg_get_functiondef('_create_type(text)'::regprocedure),
        '_bury_all', '_tombstone_truncated'), '_bury_renamed', '_tombstone_renamed'), '_bury', '_tombstone_deleted');
END $do$;

COMMENT ON FUNCTION _announce_schema() IS
    'Notifies every process that a table of this schema was changed by hand.';
COMMENT ON TABLE _tombstone IS 'The records that were deleted, for clients that catch up from a revision.';
COMMENT ON COLUMN _user.disabled IS 'Whether the account is disabled.';
COMMENT ON COLUMN _user.disabled_message IS 'The message for the user of a disabled account.';
COMMENT ON COLUMN _user.disabled_until IS 'When a disabled account is enabled again; NULL: never.';
