-- differs: pgbench cannot bind the six arrays that the service sends, so PostgreSQL makes the 100 rows, which is less work.
-- record:save of 100 new records, otherwise as the service sends it.
INSERT INTO "app"."entry" AS "r" ("_id", "_owner", "_created_by", "_updated_by", "done", "due", "grp", "score", "title")
SELECT "i"."_id", :user::text, :user::text, :user::text, "i"."done", "i"."due", "i"."grp", "i"."score", "i"."title"
FROM (SELECT (1000000000000000000 + (random() * 999999999999999999)::bigint)::text, false, timestamptz '2026-03-01T09:00:00Z', n, 0.5::float8, 'Item ' || n
FROM generate_series(1, 100) AS n) AS "i" ("_id", "done", "due", "grp", "score", "title")
ON CONFLICT ("_id") DO UPDATE SET "_updated_at" = EXCLUDED."_updated_at", "_updated_by" = EXCLUDED."_updated_by", "_revision" = EXCLUDED."_revision",
"done" = EXCLUDED."done", "due" = EXCLUDED."due", "grp" = EXCLUDED."grp", "score" = EXCLUDED."score", "title" = EXCLUDED."title"
WHERE "r"."_database" = '_public'
AND ("r"."_owner" = :user OR ("r"."_access" ?| (SELECT :audience::text::text[])
AND EXISTS (SELECT FROM jsonb_each_text("r"."_access") AS "e" ("subject", "level") WHERE "e"."level" IN ('update', 'write') AND "e"."subject" = ANY ((SELECT :audience::text::text[])::text[]))))
RETURNING "r"."_id", "r"."_access", "r"."_owner", "r"."_created_at", "r"."_created_by", "r"."_updated_at", "r"."_updated_by", "r"."_revision", "r"."done", "r"."due", "r"."grp", "r"."score", "r"."title";
