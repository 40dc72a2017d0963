-- Guesses of passwords are counted by all processes together, before they are judged.

CREATE TABLE _throttle (
    bucket bytea PRIMARY KEY,
    failures integer NOT NULL,
    window_start timestamptz NOT NULL,
    blocked_until timestamptz NOT NULL
);
COMMENT ON TABLE _throttle IS 'Guesses of passwords, counted before they are judged; the service sweeps it.';
COMMENT ON COLUMN _throttle.bucket IS 'HMAC-SHA-256 of whose guesses are counted: a login key and a client, a client, or a login key.';
COMMENT ON COLUMN _throttle.failures IS 'How many there were since window_start.';
COMMENT ON COLUMN _throttle.window_start IS 'When the first of them was.';
COMMENT ON COLUMN _throttle.blocked_until IS 'When the next one is judged.';

CREATE TABLE _known_client (
    bucket bytea PRIMARY KEY,
    user_id text COLLATE "C" NOT NULL REFERENCES _user (id) ON DELETE CASCADE,
    seen_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX ON _known_client (user_id);
COMMENT ON TABLE _known_client IS
    'From where users logged in within 30 days, so that guesses of others do not keep them out.';
COMMENT ON COLUMN _known_client.bucket IS 'HMAC-SHA-256 of a login key and a client or device.';
COMMENT ON COLUMN _known_client.user_id IS 'Who logged in.';
COMMENT ON COLUMN _known_client.seen_at IS 'When that was last.';

-- Rows are locked in one order, so that claims wait for each other and never in a circle. Those that are not there yet are
-- made only when no other refuses. The time is that of the moment after waiting, not that of the transaction.
CREATE FUNCTION _claim_guess(
    buckets bytea[], pauses boolean[], allowed integer[], seconds integer[], unless_known boolean[], known bytea[],
    OUT wait double precision, OUT is_known boolean
) LANGUAGE plpgsql
SET search_path FROM CURRENT AS $$
DECLARE
    asked bytea[];
    found integer := 0;
    blocked timestamptz;
    moment timestamptz;
BEGIN
    is_known := EXISTS (
        SELECT FROM _known_client AS client
        WHERE client.bucket = ANY (known) AND client.seen_at > now() - interval '30 days'
    );
    asked := ARRAY(
        SELECT given.bucket FROM unnest(buckets, unless_known) AS given (bucket, unless_known)
        WHERE NOT (given.unless_known AND is_known)
    );
    FOR attempt IN 1..2 LOOP
        SELECT count(*), max(held.blocked_until) INTO found, blocked
        FROM (
            SELECT throttle.blocked_until FROM _throttle AS throttle WHERE throttle.bucket = ANY (asked)
            ORDER BY throttle.bucket FOR UPDATE
        ) AS held;
        moment := clock_timestamp();
        IF blocked > moment THEN
            wait := extract(epoch FROM blocked - moment);
            RETURN;
        END IF;
        EXIT WHEN found = cardinality(asked);
        INSERT INTO _throttle (bucket, failures, window_start, blocked_until)
        SELECT given.bucket, 0, moment, moment FROM unnest(asked) AS given (bucket) ORDER BY given.bucket
        ON CONFLICT DO NOTHING;
    END LOOP;
    UPDATE _throttle AS throttle
    SET failures = next.failures, window_start = next.window_start,
        blocked_until = CASE
            WHEN next.failures < next.allowed AND next.pauses THEN moment
            WHEN next.failures < next.allowed THEN next.window_start
            WHEN next.pauses THEN moment + least(power(2, least(next.failures - next.allowed, 20)), 900) * interval '1 s'
            ELSE next.window_start + next.seconds * interval '1 s'
        END
    FROM (
        SELECT given.bucket, given.pauses, given.allowed, given.seconds,
            CASE WHEN began.anew THEN 1 ELSE before.failures + 1 END AS failures,
            CASE WHEN began.anew THEN moment ELSE before.window_start END AS window_start
        FROM unnest(buckets, pauses, allowed, seconds) AS given (bucket, pauses, allowed, seconds)
        JOIN _throttle AS before ON before.bucket = given.bucket
        CROSS JOIN LATERAL (
            -- A pause is followed by as long a time in which its count is still there.
            SELECT before.failures = 0 OR CASE WHEN given.pauses THEN before.blocked_until ELSE before.window_start END
                <= moment - given.seconds * interval '1 s' AS anew
        ) AS began
        WHERE given.bucket = ANY (asked)
    ) AS next
    WHERE throttle.bucket = next.bucket;
END $$;
COMMENT ON FUNCTION _claim_guess(bytea[], boolean[], integer[], integer[], boolean[], bytea[]) IS
    'Counts a guess in some buckets, or says for how many seconds it is refused and counts nothing.';

CREATE FUNCTION _settle_guess(buckets bytea[], pauses boolean[], allowed integer[], was_right boolean) RETURNS void
LANGUAGE plpgsql
SET search_path FROM CURRENT AS $$
BEGIN
    PERFORM FROM _throttle AS throttle WHERE throttle.bucket = ANY (buckets) ORDER BY throttle.bucket FOR UPDATE;
    DELETE FROM _throttle AS throttle USING unnest(buckets, pauses) AS given (bucket, pauses)
    WHERE throttle.bucket = given.bucket AND given.pauses AND was_right;
    UPDATE _throttle AS throttle
    SET failures = greatest(throttle.failures - 1, 0),
        blocked_until = CASE
            WHEN given.pauses THEN clock_timestamp()
            WHEN throttle.failures <= given.allowed THEN throttle.window_start
            ELSE throttle.blocked_until
        END
    FROM unnest(buckets, pauses, allowed) AS given (bucket, pauses, allowed)
    WHERE throttle.bucket = given.bucket;
END $$;
COMMENT ON FUNCTION _settle_guess(bytea[], boolean[], integer[], boolean) IS
    'Takes a guess back that was right, or that was not judged; a right one also ends the pauses of its client.';

CREATE FUNCTION _remember_client(buckets bytea[], account text) RETURNS void LANGUAGE plpgsql
SET search_path FROM CURRENT AS $$
BEGIN
    INSERT INTO _known_client AS client (bucket, user_id)
    SELECT given.bucket, account FROM unnest(buckets) AS given (bucket) ORDER BY given.bucket
    ON CONFLICT (bucket) DO UPDATE SET user_id = EXCLUDED.user_id, seen_at = now();
    DELETE FROM _known_client AS client WHERE client.bucket IN (
        SELECT other.bucket FROM _known_client AS other WHERE other.user_id = account
        ORDER BY other.seen_at DESC, other.bucket OFFSET 50
    );
END $$;
COMMENT ON FUNCTION _remember_client(bytea[], text) IS
    'Notes that a user logged in from there; of each user the 50 last places are kept.';
