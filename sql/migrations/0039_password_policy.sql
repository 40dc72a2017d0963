-- When passwords were set, and the last ones of an account.

ALTER TABLE _user ADD COLUMN password_changed_at timestamptz NOT NULL DEFAULT now();
COMMENT ON COLUMN _user.password_changed_at IS
    'When the password was set; of one from before this was kept, when the column was added.';

CREATE TABLE _password_history (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    user_id text COLLATE "C" NOT NULL REFERENCES _user (id) ON DELETE CASCADE,
    hash text NOT NULL,
    replaced_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX ON _password_history (user_id, id DESC);
COMMENT ON TABLE _password_history IS 'The former passwords of accounts, as many as password-history compares with a new one.';
COMMENT ON COLUMN _password_history.id IS 'Counts them; a later one is greater.';
COMMENT ON COLUMN _password_history.user_id IS 'Whose it was.';
COMMENT ON COLUMN _password_history.hash IS 'The hashed password with its parameters.';
COMMENT ON COLUMN _password_history.replaced_at IS 'When another one took its place.';
