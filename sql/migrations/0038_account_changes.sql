-- Changes of address that are proved and can be undone, log-ins by mail, subjects with a verified address, and merges.

ALTER TABLE _code DROP CONSTRAINT _code_kind_check;
ALTER TABLE _code ADD CONSTRAINT _code_kind_check CHECK (kind IN ('verify', 'reset', 'invite', 'email', 'undo', 'link'));
COMMENT ON COLUMN _code.kind IS 'verify: it proves the address; reset: it sets a new password; invite: it sets the first one; email: it makes the address that of the account; undo: it gives the account the address back; link: it logs in.';
COMMENT ON COLUMN _code.epoch IS 'The epoch of the account in which it was made; in another one it is void, but for the kind undo.';
COMMENT ON COLUMN _code.target IS 'The address as the account has it, is to have it (email) or had it (undo); empty without an account.';
COMMENT ON COLUMN _session.created_with IS 'What opened it: signup, login, password, reset, link, provider, custom_token or master.';

ALTER TABLE _former_login ADD COLUMN user_id text COLLATE "C" REFERENCES _user (id) ON DELETE CASCADE;
CREATE INDEX ON _former_login (user_id) WHERE user_id IS NOT NULL;
COMMENT ON TABLE _former_login IS 'The login keys of deleted accounts, which no other account gets for 30 days, and addresses that accounts may get back.';
COMMENT ON COLUMN _former_login.user_id IS 'The account that had the address and may have it again; NULL: it is deleted.';

CREATE OR REPLACE FUNCTION _check_former_login() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
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
        WHERE former.until > now() AND former.user_id IS DISTINCT FROM NEW._id
            AND former.code IN (SELECT _login_code(known.secret, TG_ARGV[0], value) FROM _secret AS known)
    ) THEN
        -- As where another account has it, so that the answer is the same.
        RAISE EXCEPTION 'An account had this login key until lately, and may get it back.'
            USING ERRCODE = 'unique_violation', CONSTRAINT = '_login_key_' || TG_ARGV[0], TABLE = TG_TABLE_NAME;
    END IF;
    RETURN NULL;
END $$;
COMMENT ON FUNCTION _check_former_login() IS 'Refuses a login key that another account had until lately, and may get back, or that was deleted within 30 days.';

CREATE OR REPLACE TRIGGER _announce
    AFTER UPDATE OF password_hash, token_valid_since, epoch, disabled, disabled_message, disabled_until, verified_email
    ON _user FOR EACH ROW EXECUTE FUNCTION _announce_user();

CREATE FUNCTION _announce_address() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_notify('skyrow_session', TG_TABLE_SCHEMA || '/user:' || NEW._id);
    RETURN NULL;
END $$;
COMMENT ON FUNCTION _announce_address() IS 'Notifies every process that a user has another address, which may not be the verified one.';
CREATE TRIGGER _announce_address AFTER UPDATE OF email ON "user" FOR EACH ROW
    WHEN (NEW.email IS DISTINCT FROM OLD.email) EXECUTE FUNCTION _announce_address();

CREATE OR REPLACE FUNCTION _audience() RETURNS text[] LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path FROM CURRENT AS $$
DECLARE
    me text := _me();
    roles text[];
BEGIN
    IF me IS NULL THEN
        RETURN NULL;
    END IF;
    roles := ARRAY(
        WITH RECURSIVE held (role) AS (
            SELECT given.role FROM _user_role AS given WHERE given.user_id = me
            UNION SELECT up.role FROM held JOIN _role_role AS up ON up.member = held.role
        )
        SELECT 'role:' || held.role FROM held LIMIT 1001
    );
    IF cardinality(roles) > 1000 THEN
        RAISE EXCEPTION 'A user has at most 1000 roles.' USING ERRCODE = 'program_limit_exceeded';
    END IF;
    RETURN ARRAY['public', 'users', 'user:' || me] || roles
        || ARRAY(
            SELECT 'registered' FROM _user AS account
            WHERE account.id = me AND (
                account.password_hash IS NOT NULL
                OR account.verified_email IS NOT NULL
                OR EXISTS (SELECT FROM _identity AS identity WHERE identity.user_id = me)
            )
        )
        || ARRAY(
            SELECT 'verified' FROM _user AS account JOIN "user" AS profile ON profile._id = account.id
            WHERE account.id = me AND profile.email = account.verified_email
        )
        || ARRAY(SELECT 'group:' || carried.name FROM _user_group AS carried WHERE carried.user_id = me);
END $$;

CREATE TABLE _merge (
    user_id text COLLATE "C" PRIMARY KEY,
    target text COLLATE "C" NOT NULL,
    token_hash bytea NOT NULL UNIQUE,
    records bigint NOT NULL DEFAULT 0,
    began_at timestamptz NOT NULL DEFAULT now(),
    next_at timestamptz NOT NULL,
    finished_at timestamptz
);
CREATE INDEX ON _merge (next_at);
COMMENT ON TABLE _merge IS 'The anonymous accounts that are being merged into others, and for 30 days those that were.';
COMMENT ON COLUMN _merge.user_id IS 'The id of the anonymous account.';
COMMENT ON COLUMN _merge.target IS 'The account that gets its records.';
COMMENT ON COLUMN _merge.token_hash IS 'SHA-256 of the token that it was merged with, by which the same call gets the same result.';
COMMENT ON COLUMN _merge.records IS 'How many records have moved.';
COMMENT ON COLUMN _merge.began_at IS 'When the anonymous account was disabled in order to be merged.';
COMMENT ON COLUMN _merge.next_at IS 'When a process goes on with it, which the one that works on it moves ahead; infinity when nothing is left to do.';
COMMENT ON COLUMN _merge.finished_at IS 'When everything had moved; NULL: some of it has not yet.';

CREATE TABLE _merge_change (
    user_id text COLLATE "C" NOT NULL REFERENCES _merge (user_id) ON DELETE CASCADE,
    type text COLLATE "C" NOT NULL,
    old_id text COLLATE "C" NOT NULL,
    new_id text COLLATE "C" NOT NULL,
    cleared text[] NOT NULL DEFAULT '{}',
    PRIMARY KEY (user_id, type, old_id)
);
COMMENT ON TABLE _merge_change IS 'Private records of merged accounts that got another id, or lost values, since the other account has a record of that id or value.';
COMMENT ON COLUMN _merge_change.user_id IS 'The id of the anonymous account.';
COMMENT ON COLUMN _merge_change.type IS 'The record type.';
COMMENT ON COLUMN _merge_change.old_id IS 'The id of the record on the wire, before.';
COMMENT ON COLUMN _merge_change.new_id IS 'That of the record afterwards.';
COMMENT ON COLUMN _merge_change.cleared IS 'The fields whose values were removed.';
