-- The applications of a service besides the default one: where their records are, and which keys and host names select them.
-- The script runs when the first of them is created; running it again changes nothing.

CREATE SCHEMA IF NOT EXISTS _skyrow;
COMMENT ON SCHEMA _skyrow IS 'The applications of Skyrow.';

CREATE TABLE IF NOT EXISTS _skyrow.application (
    name text COLLATE "C" PRIMARY KEY CHECK (name ~ '^[a-z][a-z0-9_]{0,62}$'),
    schema text COLLATE "C" NOT NULL UNIQUE,
    disabled boolean NOT NULL DEFAULT false,
    created_at timestamptz NOT NULL DEFAULT now()
);
COMMENT ON TABLE _skyrow.application IS 'The applications.';
COMMENT ON COLUMN _skyrow.application.name IS 'Its name, which operators use.';
COMMENT ON COLUMN _skyrow.application.schema IS 'The PostgreSQL schema of its records.';
COMMENT ON COLUMN _skyrow.application.disabled IS 'Whether its keys and host names are refused.';
COMMENT ON COLUMN _skyrow.application.created_at IS 'When it was created.';

CREATE TABLE IF NOT EXISTS _skyrow.application_key (
    hash bytea PRIMARY KEY CHECK (octet_length(hash) = 32),
    application text COLLATE "C" NOT NULL REFERENCES _skyrow.application (name) ON UPDATE CASCADE ON DELETE CASCADE,
    kind text NOT NULL CHECK (kind IN ('api', 'master')),
    hint text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz
);
CREATE INDEX IF NOT EXISTS application_key_application_idx ON _skyrow.application_key (application);
COMMENT ON TABLE _skyrow.application_key IS 'The keys of the applications, by their hashes.';
COMMENT ON COLUMN _skyrow.application_key.hash IS 'SHA-256 of the key, which has 256 random bits.';
COMMENT ON COLUMN _skyrow.application_key.application IS 'The application.';
COMMENT ON COLUMN _skyrow.application_key.kind IS 'api: admits clients; master: is exempt from every rule.';
COMMENT ON COLUMN _skyrow.application_key.hint IS 'The first characters of the key, by which people recognise it.';
COMMENT ON COLUMN _skyrow.application_key.created_at IS 'When the key was created.';
COMMENT ON COLUMN _skyrow.application_key.expires_at IS 'When it expires; NULL: never.';

CREATE TABLE IF NOT EXISTS _skyrow.application_host (
    host text COLLATE "C" PRIMARY KEY CHECK (host = lower(host)),
    application text COLLATE "C" NOT NULL REFERENCES _skyrow.application (name) ON UPDATE CASCADE ON DELETE CASCADE
);
CREATE INDEX IF NOT EXISTS application_host_application_idx ON _skyrow.application_host (application);
COMMENT ON TABLE _skyrow.application_host IS 'The host names of the applications.';
COMMENT ON COLUMN _skyrow.application_host.host IS 'The name in lower case, without a port.';
COMMENT ON COLUMN _skyrow.application_host.application IS 'The application.';
