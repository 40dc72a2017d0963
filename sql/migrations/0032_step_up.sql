-- Sessions whose user has proved once more who it is, and how strong the proof was that opened them.

ALTER TABLE _session
    ADD COLUMN level smallint NOT NULL DEFAULT 1 CHECK (level IN (1, 2)),
    ADD COLUMN elevated_until timestamptz;
COMMENT ON COLUMN _session.level IS '1: opened with one proof, such as a password; 2: with a second factor besides.';
COMMENT ON COLUMN _session.elevated_until IS
    'Until when it may do what takes step-up: for ten minutes after a sign-up or auth:stepup; NULL: neither.';
