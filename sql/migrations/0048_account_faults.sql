-- Guesses of the first code of a second factor.

ALTER TABLE _factor ADD COLUMN pending_attempts integer NOT NULL DEFAULT 0;
COMMENT ON COLUMN _factor.pending_attempts IS 'How often a code of the secret that waits was tried.';
