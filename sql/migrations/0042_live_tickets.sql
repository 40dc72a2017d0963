-- Tokens that open one event stream each, for clients that cannot set headers.

CREATE TABLE _live_ticket (
    token_hash bytea PRIMARY KEY,
    session_id uuid NOT NULL REFERENCES _session (id) ON DELETE CASCADE,
    created_at timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz NOT NULL
);
CREATE INDEX ON _live_ticket (session_id);
CREATE INDEX ON _live_ticket (expires_at);
COMMENT ON TABLE _live_ticket IS 'Tokens of live:ticket that have not been used: each opens one event stream.';
COMMENT ON COLUMN _live_ticket.token_hash IS 'SHA-256 of the token; the token itself is not stored.';
COMMENT ON COLUMN _live_ticket.session_id IS 'The session in whose name the stream is opened; its end ends the ticket.';
COMMENT ON COLUMN _live_ticket.created_at IS 'When it was given out.';
COMMENT ON COLUMN _live_ticket.expires_at IS 'When it ends, a minute later.';
