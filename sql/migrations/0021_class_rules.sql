-- Rules of record types: who creates, reads, updates and deletes their records, and how that goes together with the access
-- lists of these (Documentation/Decisions/0051-class-rules.md). No type has any yet, so nothing changes for a caller.

CREATE TABLE _class_rule (
    type text COLLATE "C" NOT NULL CHECK (type ~ '^[A-Za-z][A-Za-z0-9_]{0,62}$'),
    action text COLLATE "C" NOT NULL CHECK (action IN ('create', 'read', 'update', 'delete')),
    allow text[] NOT NULL CHECK (cardinality(allow) <= 100 AND array_position(allow, NULL) IS NULL),
    mode text NOT NULL DEFAULT 'default' CHECK (mode IN ('default', 'require', 'override')),
    PRIMARY KEY (type, action),
    CHECK (action <> 'create' OR mode = 'default')
);
COMMENT ON TABLE _class_rule IS 'Who creates, reads, updates and deletes the records of a type, where that is not the standard.';
COMMENT ON COLUMN _class_rule.type IS 'The record type.';
COMMENT ON COLUMN _class_rule.action IS 'create, read, update or delete.';
COMMENT ON COLUMN _class_rule.allow IS
    'The subjects that it allows, {public,role:editor}; with one that means nothing it allows none, and an empty one none but the master key.';
COMMENT ON COLUMN _class_rule.mode IS
    'default: for records without a list; require: beside the list; override: instead of the list, for owners too.';

CREATE TABLE _class_option (
    type text COLLATE "C" PRIMARY KEY CHECK (type ~ '^[A-Za-z][A-Za-z0-9_]{0,62}$'),
    default_access jsonb CHECK (_reserved_columns_fit('x', '_public', default_access)),
    list_by text CHECK (list_by IN ('owner', 'update')),
    transfer_by text NOT NULL DEFAULT 'master' CHECK (transfer_by IN ('master', 'owner')),
    private boolean NOT NULL DEFAULT true,
    aggregate boolean NOT NULL DEFAULT true
);
COMMENT ON TABLE _class_option IS 'What new records of a type begin with, who changes their lists, and where they may live.';
COMMENT ON COLUMN _class_option.type IS 'The record type.';
COMMENT ON COLUMN _class_option.default_access IS
    'The access list of a new public record that brings none, {"role:editor": "write"}; NULL: it has none.';
COMMENT ON COLUMN _class_option.list_by IS
    'Who changes the access list of a record: its owner, or who may update it; NULL: as the settings say.';
COMMENT ON COLUMN _class_option.transfer_by IS 'Who gives records to other owners: the master key, or their owner too.';
COMMENT ON COLUMN _class_option.private IS 'Whether private databases have records of the type.';
COMMENT ON COLUMN _class_option.aggregate IS 'Whether others than the master key have aggregates of the records computed.';

CREATE TABLE _version (
    name text COLLATE "C" PRIMARY KEY,
    value bigint NOT NULL DEFAULT 0
);
COMMENT ON TABLE _version IS 'Numbers that grow with every change of something that processes keep in memory.';
COMMENT ON COLUMN _version.name IS
    'rules: the tables _class_rule and _class_option; default_lists: there since an account first got a default_access.';
COMMENT ON COLUMN _version.value IS 'How often it was changed.';
INSERT INTO _version (name) VALUES ('rules');

-- The rules of a type are part of what processes know of it, so they hear of a change as of one of the schema. The number is
-- for those that hear nothing: behind a pooler, or without the connection that listens.
CREATE FUNCTION _announce_class() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT AS $$
BEGIN
    INSERT INTO _version AS known (name, value) VALUES ('rules', 1)
    ON CONFLICT (name) DO UPDATE SET value = known.value + 1;
    IF TG_LEVEL = 'STATEMENT' THEN
        PERFORM pg_notify('skyrow_schema', TG_TABLE_SCHEMA);
        RETURN NULL;
    END IF;
    IF TG_OP <> 'INSERT' THEN
        PERFORM pg_notify('skyrow_schema', TG_TABLE_SCHEMA || ' ' || OLD.type);
    END IF;
    IF TG_OP <> 'DELETE' THEN
        PERFORM pg_notify('skyrow_schema', TG_TABLE_SCHEMA || ' ' || NEW.type);
    END IF;
    RETURN NULL;
END $$;
COMMENT ON FUNCTION _announce_class() IS 'Notifies every process that a record type has other rules now.';
CREATE TRIGGER _announce AFTER INSERT OR UPDATE OR DELETE ON _class_rule
    FOR EACH ROW EXECUTE FUNCTION _announce_class();
CREATE TRIGGER _announce_all AFTER TRUNCATE ON _class_rule
    FOR EACH STATEMENT EXECUTE FUNCTION _announce_class();
CREATE TRIGGER _announce AFTER INSERT OR UPDATE OR DELETE ON _class_option
    FOR EACH ROW EXECUTE FUNCTION _announce_class();
CREATE TRIGGER _announce_all AFTER TRUNCATE ON _class_option
    FOR EACH STATEMENT EXECUTE FUNCTION _announce_class();

-- A save looks for the list of its user only where there is any.
ALTER TABLE _user ADD COLUMN default_access jsonb CHECK (_reserved_columns_fit('x', '_public', default_access));
COMMENT ON COLUMN _user.default_access IS
    'The access list of a new public record of this user that brings none, {"role:editor": "write"}; NULL: that of its type.';
CREATE FUNCTION _note_default_list() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT AS $$
BEGIN
    INSERT INTO _version (name, value) VALUES ('default_lists', 1) ON CONFLICT (name) DO NOTHING;
    RETURN NULL;
END $$;
COMMENT ON FUNCTION _note_default_list() IS 'Notes that there are accounts with a list for new records.';
CREATE TRIGGER _note_default_list AFTER INSERT OR UPDATE OF default_access ON _user
    FOR EACH ROW WHEN (NEW.default_access IS NOT NULL) EXECUTE FUNCTION _note_default_list();
