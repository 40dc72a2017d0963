-- One-time codes, and the mails that bring them.

ALTER TABLE _user ADD COLUMN verified_email text;
COMMENT ON COLUMN _user.verified_email IS 'The address that was verified; it counts while the profile has this very one.';

CREATE TABLE _code (
    kind text COLLATE "C" NOT NULL CHECK (kind IN ('verify', 'reset')),
    address_key bytea NOT NULL,
    id bytea NOT NULL UNIQUE,
    user_id text COLLATE "C" REFERENCES _user (id) ON DELETE CASCADE,
    epoch bigint NOT NULL,
    target text NOT NULL,
    language text NOT NULL,
    link_hash bytea NOT NULL UNIQUE,
    digits_hash bytea NOT NULL,
    attempts integer NOT NULL DEFAULT 0,
    guesses integer NOT NULL DEFAULT 0,
    guesses_since timestamptz NOT NULL DEFAULT now(),
    created_at timestamptz NOT NULL DEFAULT now(),
    link_expires_at timestamptz NOT NULL,
    digits_expire_at timestamptz NOT NULL,
    used_at timestamptz,
    PRIMARY KEY (kind, address_key)
);
CREATE INDEX ON _code (user_id);
COMMENT ON TABLE _code IS 'The one-time code that was last sent to an address, for each kind; also for addresses without an account.';
COMMENT ON COLUMN _code.kind IS 'verify: it proves the address; reset: it sets a new password.';
COMMENT ON COLUMN _code.address_key IS 'SHA-256 of the address in the form in which login keys are compared.';
COMMENT ON COLUMN _code.id IS 'What the handle of the client that asked for the code stands for.';
COMMENT ON COLUMN _code.user_id IS 'The account; NULL: there is none of this address, and nothing is sent.';
COMMENT ON COLUMN _code.epoch IS 'The epoch of the account in which it was made; in another one it is void.';
COMMENT ON COLUMN _code.target IS 'The address as the account has it; empty without an account.';
COMMENT ON COLUMN _code.language IS 'The language of the mail.';
COMMENT ON COLUMN _code.link_hash IS 'SHA-256 of the code in the link.';
COMMENT ON COLUMN _code.digits_hash IS 'HMAC-SHA-256 of id and digits under a key that is derived from _secret.';
COMMENT ON COLUMN _code.attempts IS 'How often digits were tried.';
COMMENT ON COLUMN _code.guesses IS 'How often digits of this kind were tried for the address since guesses_since.';
COMMENT ON COLUMN _code.guesses_since IS 'Since when guesses counts; a day later it begins anew.';
COMMENT ON COLUMN _code.created_at IS 'When it was made.';
COMMENT ON COLUMN _code.link_expires_at IS 'When the link ends.';
COMMENT ON COLUMN _code.digits_expire_at IS 'When the digits end.';
COMMENT ON COLUMN _code.used_at IS 'When it was used, after which it counts no more.';

CREATE TABLE _mail (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    kind text COLLATE "C" NOT NULL,
    user_id text COLLATE "C" REFERENCES _user (id) ON DELETE CASCADE,
    target text,
    address_key bytea,
    client_key bytea,
    language text NOT NULL,
    link_code text,
    digits text,
    state text NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'sent', 'dropped', 'dead')),
    attempts integer NOT NULL DEFAULT 0,
    created_at timestamptz NOT NULL DEFAULT now(),
    next_at timestamptz NOT NULL DEFAULT now(),
    failure text
);
CREATE INDEX ON _mail (next_at) WHERE state = 'waiting';
CREATE INDEX ON _mail (address_key, created_at);
CREATE INDEX ON _mail (client_key, created_at);
CREATE INDEX ON _mail (user_id);
COMMENT ON TABLE _mail IS 'Mails that are to be sent, and for an hour those that were, which limits are counted by.';
COMMENT ON COLUMN _mail.id IS 'Counts the mails.';
COMMENT ON COLUMN _mail.kind IS 'The name of its templates.';
COMMENT ON COLUMN _mail.user_id IS 'Whose mail it is.';
COMMENT ON COLUMN _mail.target IS 'The address; NULL: no account has the one that was asked for, and the mail is dropped in place of being sent.';
COMMENT ON COLUMN _mail.address_key IS 'SHA-256 of the address that was asked for; NULL: it counts for no limit.';
COMMENT ON COLUMN _mail.client_key IS 'The network of the client that asked.';
COMMENT ON COLUMN _mail.language IS 'The language of the templates.';
COMMENT ON COLUMN _mail.link_code IS 'The code in its link; removed when the mail is sent or given up.';
COMMENT ON COLUMN _mail.digits IS 'Its digits; removed likewise.';
COMMENT ON COLUMN _mail.state IS 'waiting until it is sent, dropped (no account) or dead (given up).';
COMMENT ON COLUMN _mail.attempts IS 'How often sending it was begun.';
COMMENT ON COLUMN _mail.created_at IS 'When it was asked for.';
COMMENT ON COLUMN _mail.next_at IS 'When it is tried next; while it is being sent, when another process takes it over.';
COMMENT ON COLUMN _mail.failure IS 'Why the last attempt failed.';

COMMENT ON COLUMN _session.created_with IS 'What opened it: signup, login, password, reset or master.';
COMMENT ON COLUMN _audit.event IS 'signup, login, logout, password, reset, verify, session, reuse, disable, enable, master or lockout.';
