-- Rules of fields about what is asked of them, and rules that deny (Documentation/Decisions/0082-field-questions.md). No rule changes.

ALTER TABLE _field_rule DROP CONSTRAINT _field_rule_action_check;
ALTER TABLE _field_rule ADD CONSTRAINT _field_rule_action_check
    CHECK (action IN ('create', 'read', 'update', 'compare', 'discover'));
COMMENT ON COLUMN _field_rule.action IS 'create, read, update, compare or discover.';
COMMENT ON COLUMN _field_rule.allow IS
    'The subjects that it allows, {owner,role:editor}, or denies, {!role:guest,users}: the first that one is decides. With one that means nothing it allows none, and an empty one none but the master key.';
