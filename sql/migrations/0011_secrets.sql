-- What the service signs and reads again itself, such as cursors, is signed under keys that come from here.

CREATE TABLE _secret (
    number smallint PRIMARY KEY CHECK (number BETWEEN 1 AND 255),
    secret bytea NOT NULL CHECK (octet_length(secret) >= 32),
    created_at timestamptz NOT NULL DEFAULT now()
);
COMMENT ON TABLE _secret IS 'Random bytes, from which the keys are derived that sign cursors. All processes have the same.';
COMMENT ON COLUMN _secret.number IS 'The highest one signs; all of them are accepted.';
COMMENT ON COLUMN _secret.secret IS 'The random bytes.';
COMMENT ON COLUMN _secret.created_at IS 'When they were drawn.';

-- A UUID has 122 random bits.
INSERT INTO _secret (number, secret)
VALUES (1, sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())));
