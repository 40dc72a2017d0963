-- Who sees access lists, records without an owner, and longer rules (Documentation/Decisions/0098-readers-of-lists.md). No row changes.

ALTER TABLE _class_option
    ADD COLUMN list_read_by text CHECK (list_read_by IN ('owner', 'update', 'read')),
    ADD COLUMN creator text NOT NULL DEFAULT 'owner' CHECK (creator IN ('owner', 'none'));
COMMENT ON COLUMN _class_option.list_read_by IS
    'Who sees the whole access list of a record: its owner, who may update it, or all who read it; NULL: as the settings say.';
COMMENT ON COLUMN _class_option.creator IS 'Whether the user who makes a public record is its owner; none: it has no owner.';

ALTER TABLE _class_rule DROP CONSTRAINT _class_rule_allow_check;
ALTER TABLE _class_rule ADD CONSTRAINT _class_rule_allow_check
    CHECK (cardinality(allow) <= 10000 AND array_position(allow, NULL) IS NULL);
ALTER TABLE _field_rule DROP CONSTRAINT _field_rule_allow_check;
ALTER TABLE _field_rule ADD CONSTRAINT _field_rule_allow_check
    CHECK (cardinality(allow) <= 10000 AND array_position(allow, NULL) IS NULL);

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
            -- What came later stands there where it is not the default, so that older policies go on.
            SELECT to_jsonb(option) - 'relations'
                - CASE WHEN option.list_read_by IS NULL THEN 'list_read_by' ELSE '' END
                - CASE WHEN option.creator = 'owner' THEN 'creator' ELSE '' END
            FROM _class_option AS option
            WHERE option.type = $1 AND NOT (
                option.default_access IS NULL AND option.list_by IS NULL AND option.list_read_by IS NULL
                AND option.transfer_by = 'master' AND option.creator = 'owner' AND option.private AND option.aggregate
            )
        )
    )::text);
END $$;
