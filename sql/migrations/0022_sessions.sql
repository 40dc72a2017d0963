-- Sessions have an id by which their user names them, say where they were opened, and may get another token.

ALTER TABLE _session
    ADD COLUMN id uuid NOT NULL DEFAULT gen_random_uuid(),
    ADD COLUMN previous_hash bytea,
    ADD COLUMN rotated_at timestamptz,
    ADD COLUMN device_id text,
    ADD COLUMN device_name text,
    ADD COLUMN address inet,
    ADD COLUMN user_agent text,
    ADD COLUMN created_with text;
ALTER TABLE _session DROP CONSTRAINT _session_pkey;
ALTER TABLE _session ADD PRIMARY KEY (id);
ALTER TABLE _session ADD UNIQUE (token_hash);
CREATE INDEX ON _session (previous_hash) WHERE previous_hash IS NOT NULL;
COMMENT ON TABLE _session IS 'The sessions of users, each with the access token that was given out for it.';
COMMENT ON COLUMN _session.id IS 'By which its user names it; it opens nothing.';
COMMENT ON COLUMN _session.previous_hash IS 'SHA-256 of the token before, which is accepted for 30 seconds after rotated_at.';
COMMENT ON COLUMN _session.rotated_at IS 'When it last got another token; NULL: never.';
COMMENT ON COLUMN _session.device_id IS 'What the application that opened it calls its device.';
COMMENT ON COLUMN _session.device_name IS 'The name of that device, for the user.';
COMMENT ON COLUMN _session.address IS 'The address that it was opened from.';
COMMENT ON COLUMN _session.user_agent IS 'The User-Agent that it was opened with.';
COMMENT ON COLUMN _session.created_with IS 'What opened it: signup, login, password or master.';

CREATE FUNCTION _announce_rotation() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_notify('skyrow_session', TG_TABLE_SCHEMA || '/token:' || encode(OLD.token_hash, 'hex'));
    RETURN NULL;
END $$;
COMMENT ON FUNCTION _announce_rotation() IS 'Notifies every process that a session has another token.';
CREATE TRIGGER _announce_rotation AFTER UPDATE OF token_hash ON _session
    FOR EACH ROW EXECUTE FUNCTION _announce_rotation();
