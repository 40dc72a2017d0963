-- Guesses never wait for each other in a circle.

-- A guess that is refused anyway takes no lock and makes no row. Of any other the rows are made or locked in one order, by
-- one statement, so that claims wait for each other and never in a circle: ON CONFLICT DO UPDATE locks also what its WHERE
-- leaves alone. The time is that of the moment after waiting, not that of the transaction.
CREATE OR REPLACE FUNCTION _claim_guess(
    buckets bytea[], pauses boolean[], allowed integer[], seconds integer[], unless_known boolean[], known bytea[],
    OUT wait double precision, OUT is_known boolean
) LANGUAGE plpgsql
SET search_path FROM CURRENT AS $$
DECLARE
    asked bytea[];
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
    SELECT max(throttle.blocked_until) INTO blocked FROM _throttle AS throttle WHERE throttle.bucket = ANY (asked);
    moment := clock_timestamp();
    IF blocked > moment THEN
        wait := extract(epoch FROM blocked - moment);
        RETURN;
    END IF;
    INSERT INTO _throttle AS throttle (bucket, failures, window_start, blocked_until)
    SELECT DISTINCT given.bucket, 0, moment, moment FROM unnest(asked) AS given (bucket) ORDER BY given.bucket
    ON CONFLICT (bucket) DO UPDATE SET failures = throttle.failures WHERE false;
    SELECT max(throttle.blocked_until) INTO blocked FROM _throttle AS throttle WHERE throttle.bucket = ANY (asked);
    moment := clock_timestamp();
    IF blocked > moment THEN
        wait := extract(epoch FROM blocked - moment);
        -- The rows that were made for this guess, and others that count nothing.
        DELETE FROM _throttle AS throttle WHERE throttle.bucket = ANY (asked) AND throttle.failures = 0;
        RETURN;
    END IF;
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

CREATE OR REPLACE FUNCTION _remember_client(buckets bytea[], account text) RETURNS void LANGUAGE plpgsql
SET search_path FROM CURRENT AS $$
BEGIN
    INSERT INTO _known_client AS client (bucket, user_id)
    SELECT given.bucket, account FROM unnest(buckets) AS given (bucket) ORDER BY given.bucket
    ON CONFLICT (bucket) DO UPDATE SET user_id = EXCLUDED.user_id, seen_at = now();
    -- Another login of the user may hold some of them; it deletes what is left over.
    DELETE FROM _known_client AS client WHERE client.bucket IN (
        SELECT held.bucket FROM _known_client AS held WHERE held.bucket IN (
            SELECT other.bucket FROM _known_client AS other WHERE other.user_id = account
            ORDER BY other.seen_at DESC, other.bucket OFFSET 50
        )
        FOR UPDATE SKIP LOCKED
    );
END $$;
