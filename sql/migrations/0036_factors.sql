-- Second factors of accounts, and log-ins that wait for one.

ALTER TABLE _user ADD COLUMN second_factor boolean NOT NULL DEFAULT false;
COMMENT ON COLUMN _user.second_factor IS 'Whether a log-in takes a second factor; kept by a trigger of _factor.';

CREATE TABLE _factor (
    id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    user_id text COLLATE "C" NOT NULL REFERENCES _user (id) ON DELETE CASCADE,
    kind text COLLATE "C" NOT NULL CHECK (kind IN ('totp', 'recovery')),
    secret_sealed bytea,
    pending_sealed bytea,
    pending_at timestamptz,
    last_step bigint NOT NULL DEFAULT 0,
    hash bytea,
    created_at timestamptz NOT NULL DEFAULT now(),
    confirmed_at timestamptz,
    last_used_at timestamptz,
    CHECK (kind <> 'recovery' OR hash IS NOT NULL),
    CHECK (kind <> 'totp' OR (confirmed_at IS NULL) = (secret_sealed IS NULL))
);
CREATE UNIQUE INDEX ON _factor (user_id) WHERE kind = 'totp';
CREATE UNIQUE INDEX ON _factor (user_id, hash);
COMMENT ON TABLE _factor IS 'The second factors of accounts: of each at most one secret for codes by time, and recovery codes that were not used.';
COMMENT ON COLUMN _factor.id IS 'Names it; it proves nothing.';
COMMENT ON COLUMN _factor.user_id IS 'Whose it is.';
COMMENT ON COLUMN _factor.kind IS 'totp: codes by time (RFC 6238); recovery: a code that counts once.';
COMMENT ON COLUMN _factor.secret_sealed IS 'The secret of the codes, sealed: 1, the length of the name of a key, this name, a nonce and AES-256-GCM; NULL until it is confirmed.';
COMMENT ON COLUMN _factor.pending_sealed IS 'One that is to take its place, until a code of it has come.';
COMMENT ON COLUMN _factor.pending_at IS 'When that one was made.';
COMMENT ON COLUMN _factor.last_step IS 'The half minute of the last code that was used, of which and before which none counts any more.';
COMMENT ON COLUMN _factor.hash IS 'HMAC-SHA-256 of account and recovery code under a key that is derived from _secret.';
COMMENT ON COLUMN _factor.created_at IS 'When it was made.';
COMMENT ON COLUMN _factor.confirmed_at IS 'Since when a log-in takes it.';
COMMENT ON COLUMN _factor.last_used_at IS 'When a code of it was last used.';

CREATE FUNCTION _note_factor() RETURNS trigger LANGUAGE plpgsql
SET search_path FROM CURRENT AS $$
DECLARE
    changed text := CASE TG_OP WHEN 'DELETE' THEN OLD.user_id ELSE NEW.user_id END;
    has boolean;
BEGIN
    has := EXISTS (
        SELECT FROM _factor AS factor
        WHERE factor.user_id = changed AND factor.kind = 'totp' AND factor.confirmed_at IS NOT NULL
    );
    UPDATE _user AS account SET second_factor = has WHERE account.id = changed AND account.second_factor <> has;
    RETURN NULL;
END $$;
COMMENT ON FUNCTION _note_factor() IS 'Keeps whether a log-in to an account takes a second factor.';
CREATE TRIGGER _note_factor AFTER INSERT OR DELETE OR UPDATE OF kind, user_id, confirmed_at ON _factor
    FOR EACH ROW EXECUTE FUNCTION _note_factor();

CREATE FUNCTION _note_no_factors() RETURNS trigger LANGUAGE plpgsql
SET search_path FROM CURRENT AS $$
BEGIN
    UPDATE _user AS account SET second_factor = false WHERE account.second_factor;
    RETURN NULL;
END $$;
COMMENT ON FUNCTION _note_no_factors() IS 'Keeps that no log-in takes a second factor where all are gone.';
CREATE TRIGGER _note_no_factors AFTER TRUNCATE ON _factor
    FOR EACH STATEMENT EXECUTE FUNCTION _note_no_factors();

CREATE TABLE _pending_login (
    handle_hash bytea PRIMARY KEY,
    user_id text COLLATE "C" NOT NULL REFERENCES _user (id) ON DELETE CASCADE,
    epoch bigint NOT NULL,
    attempts integer NOT NULL DEFAULT 0,
    device_id text,
    device_name text,
    created_at timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz NOT NULL
);
CREATE INDEX ON _pending_login (user_id);
CREATE INDEX ON _pending_login (expires_at);
COMMENT ON TABLE _pending_login IS 'Log-ins that have given a first proof and wait for the second factor.';
COMMENT ON COLUMN _pending_login.handle_hash IS 'SHA-256 of the handle that the client got; the handle itself is not stored.';
COMMENT ON COLUMN _pending_login.user_id IS 'Who logs in.';
COMMENT ON COLUMN _pending_login.epoch IS 'The epoch of the account at the first proof; in another one it is void.';
COMMENT ON COLUMN _pending_login.attempts IS 'How often a code was tried with it.';
COMMENT ON COLUMN _pending_login.device_id IS 'What the application calls its device.';
COMMENT ON COLUMN _pending_login.device_name IS 'The name of that device, for the user.';
COMMENT ON COLUMN _pending_login.created_at IS 'When the first proof was given.';
COMMENT ON COLUMN _pending_login.expires_at IS 'When it ends.';

COMMENT ON COLUMN _throttle.bucket IS 'HMAC-SHA-256 of whose guesses are counted: a login key or an account and a client, a client, or one of the former.';
COMMENT ON COLUMN _audit.event IS 'What happened; Documentation/Operations.md lists the kinds.';
