INSERT INTO plain.entry (id, title, grp, score, done, due)
SELECT (1000000000000000000 + (random() * 999999999999999999)::bigint)::text, 'Item ' || n, n, 0.5, false, timestamptz '2026-03-01T09:00:00Z'
FROM generate_series(1, 100) AS n;
