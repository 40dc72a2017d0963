-- Applications of one database share its notices and have settings of their own.

CREATE TABLE _setting (
    name text COLLATE "C" PRIMARY KEY,
    value text NOT NULL
);
COMMENT ON TABLE _setting IS 'The settings of this application, which skyrow app set makes; the default application has none.';
COMMENT ON COLUMN _setting.name IS 'The name of a setting, as skyrow config lists it.';
COMMENT ON COLUMN _setting.value IS 'Its text, as on a command line.';

-- A notice names its schema, so that sessions of other applications are left as they are.
CREATE OR REPLACE FUNCTION _announce_session() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF (SELECT count(*) FROM deleted_row WHERE expires_at > now() OR expires_at IS NULL) > 100 THEN
        PERFORM pg_notify('skyrow_session', TG_TABLE_SCHEMA || '/all');
    ELSE
        PERFORM pg_notify('skyrow_session', TG_TABLE_SCHEMA || '/token:' || encode(token_hash, 'hex'))
        FROM deleted_row WHERE expires_at > now() OR expires_at IS NULL;
    END IF;
    RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION _announce_user() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_notify('skyrow_session', TG_TABLE_SCHEMA || '/user:' || NEW.id);
    RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION _announce_user_role() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP <> 'INSERT' THEN
        PERFORM pg_notify('skyrow_session', TG_TABLE_SCHEMA || '/user:' || OLD.user_id);
    END IF;
    IF TG_OP <> 'DELETE' THEN
        PERFORM pg_notify('skyrow_session', TG_TABLE_SCHEMA || '/user:' || NEW.user_id);
    END IF;
    RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION _announce_all_sessions() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_notify('skyrow_session', TG_TABLE_SCHEMA || '/all');
    RETURN NULL;
END $$;
