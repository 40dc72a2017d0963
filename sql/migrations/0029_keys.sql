-- Keys with scopes, which are made, changed and revoked while the service runs (Documentation/Decisions/0055-keys.md).

CREATE TABLE _key (
    id text COLLATE "C" PRIMARY KEY CHECK (id ~ '^k[0-9a-z]{8}$'),
    hash bytea NOT NULL UNIQUE CHECK (octet_length(hash) = 32),
    previous_hash bytea UNIQUE CHECK (octet_length(previous_hash) = 32),
    previous_until timestamptz,
    name text NOT NULL,
    kind text NOT NULL CHECK (kind IN ('client', 'server')),
    scopes text[] NOT NULL DEFAULT '{}' CHECK (cardinality(scopes) <= 100 AND array_position(scopes, NULL) IS NULL),
    networks cidr[] NOT NULL DEFAULT '{}' CHECK (cardinality(networks) <= 100 AND array_position(networks, NULL) IS NULL),
    created_at timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz,
    revoked_at timestamptz,
    last_used_at timestamptz,
    CHECK ((previous_hash IS NULL) = (previous_until IS NULL))
);
COMMENT ON TABLE _key IS 'Keys with scopes, by their hashes: skyrow key.';
COMMENT ON COLUMN _key.id IS 'The part of the key that names it and opens nothing.';
COMMENT ON COLUMN _key.hash IS 'SHA-256 of the key, which has 256 random bits.';
COMMENT ON COLUMN _key.previous_hash IS 'That of the text before the last rotation.';
COMMENT ON COLUMN _key.previous_until IS 'Until when that is accepted.';
COMMENT ON COLUMN _key.name IS 'What the key is for.';
COMMENT ON COLUMN _key.kind IS 'client lets clients in, server passes the rules of records.';
COMMENT ON COLUMN _key.scopes IS
    'What it may do, {read,type:note}; empty: all that is open to its kind. With one that means nothing the key is refused.';
COMMENT ON COLUMN _key.networks IS 'From where it counts; empty: from everywhere.';
COMMENT ON COLUMN _key.created_at IS 'When it was made.';
COMMENT ON COLUMN _key.expires_at IS 'When it ends; NULL is never.';
COMMENT ON COLUMN _key.revoked_at IS 'When it was revoked; NULL: it holds.';
COMMENT ON COLUMN _key.last_used_at IS 'When it was last used, to the minute; NULL: it was not.';
INSERT INTO _version (name) VALUES ('keys');

-- A use is written down without a notice.
CREATE FUNCTION _announce_keys() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT AS $$
BEGIN
    INSERT INTO _version AS known (name, value) VALUES ('keys', 1)
    ON CONFLICT (name) DO UPDATE SET value = known.value + 1;
    PERFORM pg_notify('skyrow_session', TG_TABLE_SCHEMA || '/keys');
    RETURN NULL;
END $$;
COMMENT ON FUNCTION _announce_keys() IS 'Notifies every process that there are other keys now.';
CREATE TRIGGER _announce
    AFTER INSERT OR DELETE OR UPDATE OF
        id, hash, previous_hash, previous_until, kind, scopes, networks, expires_at, revoked_at
    ON _key FOR EACH ROW EXECUTE FUNCTION _announce_keys();
CREATE TRIGGER _announce_all AFTER TRUNCATE ON _key
    FOR EACH STATEMENT EXECUTE FUNCTION _announce_keys();

COMMENT ON COLUMN _version.name IS
    'rules: the tables _class_rule and _class_option; default_lists: there since an account first got a default_access; keys: the table _key.';

ALTER TABLE _audit ADD COLUMN key_id text COLLATE "C";
COMMENT ON COLUMN _audit.key_id IS 'The key that was made, changed or refused.';
COMMENT ON COLUMN _audit.event IS 'signup, login, logout, password, reset, verify, session, reuse, disable, enable, master, lockout, key.create, key.rotate, key.revoke or key (a refused use).';
COMMENT ON COLUMN _audit.actor IS 'Who did it: user:<id>, key:<id>, master for the master key, operator for a command.';
