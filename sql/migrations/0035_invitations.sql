-- Accounts that are made for their users, who choose a password by a link of a mail.

ALTER TABLE _code DROP CONSTRAINT _code_kind_check;
ALTER TABLE _code ADD CONSTRAINT _code_kind_check CHECK (kind IN ('verify', 'reset', 'invite'));
COMMENT ON COLUMN _code.kind IS 'verify: it proves the address; reset: it sets a new password; invite: it sets the first one.';
COMMENT ON COLUMN _audit.event IS 'signup, login, logout, password, reset, verify, stepup, session, reuse, disable, enable, register, invite, delete, master, lockout, provider.link, provider.unlink, key.create, key.rotate, key.revoke or key (a refused use).';
