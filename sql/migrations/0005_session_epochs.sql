-- Sessions are bound to an epoch of their account, and record when they were last used.

ALTER TABLE _user ADD COLUMN epoch bigint NOT NULL DEFAULT 0;
COMMENT ON COLUMN _user.epoch IS 'Counts how often the access tokens were revoked; a session of another epoch has ended.';
COMMENT ON COLUMN _user.token_valid_since IS 'When the access tokens were last revoked; setting it revokes them.';
UPDATE _user SET epoch = 1 WHERE token_valid_since > '-infinity';

ALTER TABLE _session
    ADD COLUMN epoch bigint,
    ADD COLUMN last_used_at timestamptz NOT NULL DEFAULT now();
COMMENT ON COLUMN _session.epoch IS 'The epoch of the account in which it was given out.';
COMMENT ON COLUMN _session.last_used_at IS 'When it was last used, to the minute.';
UPDATE _session AS session
SET epoch = CASE WHEN session.created_at < account.token_valid_since THEN account.epoch - 1 ELSE account.epoch END
FROM _user AS account WHERE account.id = session.user_id;
ALTER TABLE _session ALTER COLUMN epoch SET NOT NULL;

CREATE FUNCTION _count_epoch() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.epoch := OLD.epoch + 1;
    RETURN NEW;
END $$;
COMMENT ON FUNCTION _count_epoch() IS 'Revokes the access tokens of an account whose token_valid_since alone is set.';
CREATE TRIGGER _count_epoch BEFORE UPDATE OF token_valid_since ON _user FOR EACH ROW
    WHEN (NEW.token_valid_since IS DISTINCT FROM OLD.token_valid_since AND NEW.epoch = OLD.epoch)
    EXECUTE FUNCTION _count_epoch();

CREATE FUNCTION _bind_session() RETURNS trigger LANGUAGE plpgsql
SET search_path FROM CURRENT AS $$
BEGIN
    NEW.epoch := (SELECT account.epoch FROM _user AS account WHERE account.id = NEW.user_id);
    RETURN NEW;
END $$;
COMMENT ON FUNCTION _bind_session() IS 'Gives a session without an epoch that of its account.';
CREATE TRIGGER _bind_session BEFORE INSERT ON _session FOR EACH ROW
    WHEN (NEW.epoch IS NULL) EXECUTE FUNCTION _bind_session();

DROP TRIGGER _announce ON _user;
CREATE TRIGGER _announce
    AFTER UPDATE OF password_hash, token_valid_since, epoch, disabled, disabled_message, disabled_until
    ON _user FOR EACH ROW EXECUTE FUNCTION _announce_user();
