-- Rules of every type and of every field (Documentation/Decisions/0074-rules-of-every-field.md). No rule changes.

ALTER TABLE _field_rule DROP CONSTRAINT _field_rule_type_check;
ALTER TABLE _field_rule ADD CONSTRAINT _field_rule_type_check CHECK (type ~ '^([*]|[A-Za-z][A-Za-z0-9_]{0,62})$');
COMMENT ON COLUMN _field_rule.type IS 'The record type, or * for every one.';
COMMENT ON COLUMN _field_rule.field IS
    'The field, or * for every one. Of the rows about an action, those of type and field count before those of type and *, then * and field, then * and *.';

CREATE OR REPLACE FUNCTION _announce_class() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT AS $$
BEGIN
    -- Once for a transaction is enough, which may write very many rows.
    INSERT INTO _version AS known (name, value) VALUES ('rules', 1)
    ON CONFLICT (name) DO UPDATE SET value = known.value + 1 WHERE known.xmin <> pg_current_xact_id()::xid;
    IF TG_LEVEL = 'STATEMENT' THEN
        PERFORM pg_notify('skyrow_schema', TG_TABLE_SCHEMA);
        RETURN NULL;
    END IF;
    -- A rule of every type is one of each: the notice without a type.
    IF TG_OP <> 'INSERT' THEN
        PERFORM pg_notify('skyrow_schema', TG_TABLE_SCHEMA || coalesce(' ' || nullif(OLD.type, '*'), ''));
    END IF;
    IF TG_OP <> 'DELETE' THEN
        PERFORM pg_notify('skyrow_schema', TG_TABLE_SCHEMA || coalesce(' ' || nullif(NEW.type, '*'), ''));
    END IF;
    RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION _rules_digest(type text) RETURNS text LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT AS $$
BEGIN
    RETURN md5(jsonb_build_array(
        (SELECT jsonb_agg(to_jsonb(rule) ORDER BY rule.action) FROM _class_rule AS rule WHERE rule.type = $1),
        (
            SELECT jsonb_agg(to_jsonb(rule) ORDER BY rule.type, rule.field, rule.action)
            FROM _field_rule AS rule WHERE rule.type IN ($1, '*')
        ),
        (
            SELECT to_jsonb(option) - 'relations' FROM _class_option AS option
            WHERE option.type = $1 AND NOT (
                option.default_access IS NULL AND option.list_by IS NULL AND option.transfer_by = 'master'
                AND option.private AND option.aggregate
            )
        )
    )::text);
END $$;
