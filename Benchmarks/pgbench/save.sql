-- record:save of one new record, as the service sends it.
\set id random(1000000000000000000, 1999999999999999999)
\set grp random(1, 1000000)
\set done false
\set score 0.5
INSERT INTO "app"."entry" AS "r" ("_id", "_owner", "_created_by", "_updated_by", "done", "due", "grp", "score", "title")
SELECT "i"."_id", :user::text, :user::text, :user::text, "i"."done", "i"."due", "i"."grp", "i"."score", "i"."title"
FROM (VALUES (:id::text, :done::boolean, :due::timestamptz, :grp::bigint, :score::float8, :id::text)) AS "i" ("_id", "done", "due", "grp", "score", "title")
ON CONFLICT ("_id") DO UPDATE SET "_updated_at" = EXCLUDED."_updated_at", "_updated_by" = EXCLUDED."_updated_by", "_revision" = EXCLUDED."_revision",
"done" = EXCLUDED."done", "due" = EXCLUDED."due", "grp" = EXCLUDED."grp", "score" = EXCLUDED."score", "title" = EXCLUDED."title"
WHERE "r"."_database" = '_public'
AND ("r"."_owner" = :user OR ("r"."_access" ?| (SELECT :audience::text::text[])
AND EXISTS (SELECT FROM jsonb_each_text("r"."_access") AS "e" ("subject", "level") WHERE "e"."level" IN ('update', 'write') AND "e"."subject" = ANY ((SELECT :audience::text::text[])::text[]))))
RETURNING "r"."_id", "r"."_access", "r"."_owner", "r"."_created_at", "r"."_created_by", "r"."_updated_at", "r"."_updated_by", "r"."_revision", "r"."done", "r"."due", "r"."grp", "r"."score", "r"."title";
