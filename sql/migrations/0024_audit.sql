-- What happened to accounts is kept.

-- No foreign key: what happened to an account is still to be read when the account is gone.
CREATE TABLE _audit (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at timestamptz NOT NULL DEFAULT now(),
    event text NOT NULL,
    outcome text NOT NULL,
    user_id text COLLATE "C",
    actor text,
    session_id uuid,
    address inet,
    request_id text,
    data jsonb
);
CREATE INDEX ON _audit (user_id, at);
CREATE INDEX ON _audit (at);
COMMENT ON TABLE _audit IS 'What happened to accounts: logins, refusals, changes of passwords, ended sessions.';
COMMENT ON COLUMN _audit.id IS 'Counts up.';
COMMENT ON COLUMN _audit.at IS 'When it happened.';
COMMENT ON COLUMN _audit.event IS 'signup, login, logout, password, session, reuse, disable, enable, master or lockout.';
COMMENT ON COLUMN _audit.outcome IS 'ok, or the name of the error that the caller got.';
COMMENT ON COLUMN _audit.user_id IS 'Whose account it is; NULL: there is none.';
COMMENT ON COLUMN _audit.actor IS 'Who did it: user:<id>, master for the master key, operator for a command.';
COMMENT ON COLUMN _audit.session_id IS 'The session that was opened or ended.';
COMMENT ON COLUMN _audit.address IS 'The address of the client.';
COMMENT ON COLUMN _audit.request_id IS 'The request, as in the log.';
COMMENT ON COLUMN _audit.data IS
    'More about it; account is a code by which guesses at one account that does not exist are recognised.';
