-- Rules of single fields: who creates, reads and updates them (Documentation/Decisions/0059-field-rules.md). No field has any yet, so
-- nothing changes for a caller.

CREATE TABLE _field_rule (
    type text COLLATE "C" NOT NULL CHECK (type ~ '^[A-Za-z][A-Za-z0-9_]{0,62}$'),
    field text COLLATE "C" NOT NULL CHECK (octet_length(field) BETWEEN 1 AND 63),
    action text COLLATE "C" NOT NULL CHECK (action IN ('create', 'read', 'update')),
    allow text[] NOT NULL CHECK (cardinality(allow) <= 100 AND array_position(allow, NULL) IS NULL),
    PRIMARY KEY (type, field, action)
);
COMMENT ON TABLE _field_rule IS
    'Who gives a field its first value, sees it and changes it, among those to whom a record is open; without a row all of them.';
COMMENT ON COLUMN _field_rule.type IS 'The record type.';
COMMENT ON COLUMN _field_rule.field IS 'The field.';
COMMENT ON COLUMN _field_rule.action IS 'create, read or update.';
COMMENT ON COLUMN _field_rule.allow IS
    'The subjects that it allows, {owner,role:editor}; with one that means nothing it allows none, and an empty one none but the master key.';
COMMENT ON COLUMN _version.name IS
    'rules: the tables _class_rule, _class_option and _field_rule; default_lists: there since an account first got a default_access; keys: the table _key.';
CREATE TRIGGER _announce AFTER INSERT OR UPDATE OR DELETE ON _field_rule
    FOR EACH ROW EXECUTE FUNCTION _announce_class();
CREATE TRIGGER _announce_all AFTER TRUNCATE ON _field_rule
    FOR EACH STATEMENT EXECUTE FUNCTION _announce_class();
