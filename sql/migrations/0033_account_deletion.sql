-- Accounts are deleted with what belongs to them (Documentation/Decisions/0065-account-deletion.md).

CREATE TABLE _deletion (
    user_id text COLLATE "C" PRIMARY KEY,
    began_at timestamptz NOT NULL DEFAULT now(),
    next_at timestamptz NOT NULL,
    finished_at timestamptz,
    swept_at timestamptz
);
CREATE INDEX ON _deletion (next_at);
COMMENT ON TABLE _deletion IS
    'The accounts that are being deleted, and for 30 days those that were: their ids are given to no new account.';
COMMENT ON COLUMN _deletion.user_id IS 'The id of the account.';
COMMENT ON COLUMN _deletion.began_at IS 'When the account was disabled in order to be deleted.';
COMMENT ON COLUMN _deletion.next_at IS
    'When a process goes on with it, which the one that works on it moves ahead; infinity when nothing is left to do.';
COMMENT ON COLUMN _deletion.finished_at IS 'When the account was gone; NULL: it is disabled, and some of its records are there still.';
COMMENT ON COLUMN _deletion.swept_at IS 'When what others named as its doing was last looked for in all records.';

CREATE TABLE _former_login (
    code bytea PRIMARY KEY,
    until timestamptz NOT NULL
);
COMMENT ON TABLE _former_login IS 'The login keys of deleted accounts, which no other account gets for 30 days.';
COMMENT ON COLUMN _former_login.code IS 'What _login_code makes of the key, from which it cannot be found out without _secret.';
COMMENT ON COLUMN _former_login.until IS 'From when on another account may have it.';

-- Two hashes, one within the other, as in HMAC: a code says nothing of that of a longer text.
CREATE FUNCTION _login_code(secret bytea, field text, value text) RETURNS bytea LANGUAGE sql STABLE
SET search_path FROM CURRENT AS $$
    SELECT sha256(
        secret || sha256(secret || convert_to('former login' || chr(1) || field || chr(1) || _login_canonical(value), 'UTF8'))
    )
$$;
COMMENT ON FUNCTION _login_code(bytea, text, text) IS
    'By which a login key of a deleted account is recognised: _login_code(secret, ''email'', ''ann@example.org'').';

-- As the owner of the schema: a role that may write profiles need not read the secret.
CREATE FUNCTION _check_former_login() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT AS $$
DECLARE
    value text;
    before text;
BEGIN
    IF NOT EXISTS (SELECT FROM _former_login) THEN
        RETURN NULL;
    END IF;
    EXECUTE format('SELECT ($1).%1$I, ($2).%1$I', TG_ARGV[0]) INTO value, before USING NEW, OLD;
    IF value IS DISTINCT FROM before AND EXISTS (
        SELECT FROM _former_login AS former
        WHERE former.until > now()
            AND former.code IN (SELECT _login_code(known.secret, TG_ARGV[0], value) FROM _secret AS known)
    ) THEN
        -- As where another account has it, so that the answer is the same.
        RAISE EXCEPTION 'An account with this login key was deleted within 30 days.'
            USING ERRCODE = 'unique_violation', CONSTRAINT = '_login_key_' || TG_ARGV[0], TABLE = TG_TABLE_NAME;
    END IF;
    RETURN NULL;
END $$;
COMMENT ON FUNCTION _check_former_login() IS 'Refuses a login key that an account had which was deleted within 30 days.';
CREATE TRIGGER _check_former_username AFTER INSERT OR UPDATE OF username ON "user" FOR EACH ROW
    WHEN (NEW.username IS NOT NULL) EXECUTE FUNCTION _check_former_login('username');
CREATE TRIGGER _check_former_email AFTER INSERT OR UPDATE OF email ON "user" FOR EACH ROW
    WHEN (NEW.email IS NOT NULL) EXECUTE FUNCTION _check_former_login('email');

CREATE FUNCTION _check_former_id() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT AS $$
BEGIN
    IF EXISTS (SELECT FROM _deletion AS deletion WHERE deletion.user_id = NEW.id) THEN
        RAISE EXCEPTION 'An account of this id was deleted within 30 days.'
            USING ERRCODE = 'unique_violation', CONSTRAINT = '_user_pkey', TABLE = TG_TABLE_NAME;
    END IF;
    RETURN NULL;
END $$;
COMMENT ON FUNCTION _check_former_id() IS
    'Refuses an account with the id of one that was deleted within 30 days, which access lists may still name.';
CREATE TRIGGER _check_former_id AFTER INSERT ON _user FOR EACH ROW EXECUTE FUNCTION _check_former_id();

-- Whose tombstones are found when their owner is deleted.
CREATE INDEX ON _tombstone (owner) WHERE owner IS NOT NULL;

-- The accounts among which those are that were left alone.
CREATE INDEX ON _user (created_at) WHERE password_hash IS NULL;

COMMENT ON COLUMN _audit.event IS 'signup, login, logout, password, reset, verify, session, reuse, disable, enable, register, delete, master, lockout, provider.link, provider.unlink, key.create, key.rotate, key.revoke or key (a refused use).';
COMMENT ON COLUMN _audit.actor IS 'Who did it: user:<id>, key:<id>, master for the master key, operator for a command, service for its own doing.';
