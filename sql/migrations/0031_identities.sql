-- Logins by the word of others: identities of providers, and tokens that count once (Documentation/Decisions/0060-providers.md).

CREATE TABLE _identity (
    provider text COLLATE "C" NOT NULL CHECK (octet_length(provider) BETWEEN 1 AND 64),
    subject text COLLATE "C" NOT NULL CHECK (octet_length(subject) BETWEEN 1 AND 255),
    user_id text COLLATE "C" NOT NULL REFERENCES _user (id) ON DELETE CASCADE,
    profile jsonb NOT NULL DEFAULT '{}' CHECK (jsonb_typeof(profile) = 'object' AND pg_column_size(profile) <= 16384),
    created_at timestamptz NOT NULL DEFAULT now(),
    last_used_at timestamptz,
    PRIMARY KEY (provider, subject),
    UNIQUE (user_id, provider)
);
COMMENT ON TABLE _identity IS 'By which accounts of providers users log in.';
COMMENT ON COLUMN _identity.provider IS 'The name of the provider in the settings; custom-token: tokens of the application''s own server.';
COMMENT ON COLUMN _identity.subject IS 'What the provider calls the user: the claim sub.';
COMMENT ON COLUMN _identity.user_id IS 'Who logs in by it.';
COMMENT ON COLUMN _identity.profile IS 'What the provider last said of the user; nothing here relies on it.';
COMMENT ON COLUMN _identity.created_at IS 'When it was linked.';
COMMENT ON COLUMN _identity.last_used_at IS 'When the user last logged in by it; NULL: not yet.';

CREATE TABLE _used_token (
    hash bytea PRIMARY KEY CHECK (octet_length(hash) = 32),
    expires_at timestamptz NOT NULL
);
CREATE INDEX ON _used_token (expires_at);
COMMENT ON TABLE _used_token IS 'The tokens of providers and of the application''s own server that were used and are not to be used again.';
COMMENT ON COLUMN _used_token.hash IS 'SHA-256 of the provider''s name and of the nonce or the id of the token.';
COMMENT ON COLUMN _used_token.expires_at IS 'When the token ends by itself; the row is removed an hour later.';

-- Whether an account is anonymous depends on it. A login writes down its time without a notice.
CREATE FUNCTION _announce_identity() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP <> 'INSERT' THEN
        PERFORM pg_notify('skyrow_session', TG_TABLE_SCHEMA || '/user:' || OLD.user_id);
    END IF;
    IF TG_OP <> 'DELETE' THEN
        PERFORM pg_notify('skyrow_session', TG_TABLE_SCHEMA || '/user:' || NEW.user_id);
    END IF;
    RETURN NULL;
END $$;
COMMENT ON FUNCTION _announce_identity() IS 'Notifies every process that a user logs in by other providers now.';
CREATE TRIGGER _announce AFTER INSERT OR DELETE OR UPDATE OF user_id ON _identity
    FOR EACH ROW EXECUTE FUNCTION _announce_identity();
CREATE TRIGGER _announce_all AFTER TRUNCATE ON _identity
    FOR EACH STATEMENT EXECUTE FUNCTION _announce_all_sessions();

COMMENT ON COLUMN _session.created_with IS 'What opened it: signup, login, password, reset, provider, custom_token or master.';
COMMENT ON COLUMN _audit.event IS 'signup, login, logout, password, reset, verify, session, reuse, disable, enable, master, lockout, provider.link, provider.unlink, key.create, key.rotate, key.revoke or key (a refused use).';
COMMENT ON COLUMN _user.password_hash IS 'The hashed password with its parameters; NULL: the account has none.';
