-- Sign-ins with providers by way of the browser, and the tokens of providers (Documentation/Decisions/0069-provider-flows.md).

CREATE TABLE _flow (
    hash bytea PRIMARY KEY CHECK (octet_length(hash) = 32),
    kind text NOT NULL CHECK (kind IN ('state', 'code')),
    purpose text NOT NULL CHECK (purpose IN ('login', 'link', 'stepup')),
    provider text COLLATE "C" NOT NULL CHECK (octet_length(provider) BETWEEN 1 AND 64),
    nonce text,
    verifier_sealed bytea,
    challenge text NOT NULL CHECK (octet_length(challenge) = 43),
    redirect text NOT NULL CHECK (octet_length(redirect) BETWEEN 1 AND 2000),
    state text CHECK (octet_length(state) <= 255),
    user_id text COLLATE "C" REFERENCES _user (id) ON DELETE CASCADE,
    epoch bigint,
    session_id uuid REFERENCES _session (id) ON DELETE CASCADE,
    client bytea,
    subject text COLLATE "C" CHECK (octet_length(subject) BETWEEN 1 AND 255),
    profile jsonb CHECK (jsonb_typeof(profile) = 'object' AND pg_column_size(profile) <= 16384),
    verified_email text,
    token_sealed bytea,
    created_at timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz NOT NULL
);
CREATE INDEX ON _flow (client);
CREATE INDEX ON _flow (expires_at);
CREATE INDEX ON _flow (user_id) WHERE user_id IS NOT NULL;
CREATE INDEX ON _flow (session_id) WHERE session_id IS NOT NULL;
COMMENT ON TABLE _flow IS 'Sign-ins with providers that are under way: what waits for the provider, and what waits for the application.';
COMMENT ON COLUMN _flow.hash IS 'SHA-256 of the state that the provider brings back, or of the code that the application does; neither is stored.';
COMMENT ON COLUMN _flow.kind IS 'state: the user is at the provider; code: the application is to fetch what came of it.';
COMMENT ON COLUMN _flow.purpose IS 'login: to open a session; link: to log in by the provider from now on; stepup: to prove once more who the user is.';
COMMENT ON COLUMN _flow.provider IS 'The name of the provider in the settings.';
COMMENT ON COLUMN _flow.nonce IS 'What its id token has to have; NULL for a provider without id tokens.';
COMMENT ON COLUMN _flow.verifier_sealed IS 'What proves to the provider who began (RFC 7636), sealed like _factor.secret_sealed.';
COMMENT ON COLUMN _flow.challenge IS 'SHA-256 of what the application proves with that it began, in base64url.';
COMMENT ON COLUMN _flow.redirect IS 'Where the user goes back to, one of the addresses in the settings.';
COMMENT ON COLUMN _flow.state IS 'What the application gets back with it.';
COMMENT ON COLUMN _flow.user_id IS 'Who is linked, or proves who they are; NULL for a login.';
COMMENT ON COLUMN _flow.epoch IS 'The epoch of that account; in another one it is void.';
COMMENT ON COLUMN _flow.session_id IS 'The session that asked; NULL for a login.';
COMMENT ON COLUMN _flow.client IS 'SHA-256 of the client that began, whose share it is.';
COMMENT ON COLUMN _flow.subject IS 'What the provider calls the user, once that is proved.';
COMMENT ON COLUMN _flow.profile IS 'What the provider says of the user.';
COMMENT ON COLUMN _flow.verified_email IS 'The address that the provider says it has verified.';
COMMENT ON COLUMN _flow.token_sealed IS 'The tokens that came with it, sealed like _factor.secret_sealed; NULL where none are kept.';
COMMENT ON COLUMN _flow.created_at IS 'When it began, or when the code was made.';
COMMENT ON COLUMN _flow.expires_at IS 'When it ends.';

ALTER TABLE _identity
    ADD COLUMN token_sealed bytea,
    ADD COLUMN token_at timestamptz;
COMMENT ON COLUMN _identity.token_sealed IS 'The tokens that the provider gave for the user, sealed like _factor.secret_sealed; NULL: none are kept.';
COMMENT ON COLUMN _identity.token_at IS 'When it gave them.';
