-- record:fetch of one id, as the service sends it.
\set id 100000000000 + random(1, :rows)
SELECT "r"."_id", "r"."_access", "r"."_owner", "r"."_created_at", "r"."_created_by", "r"."_updated_at", "r"."_updated_by", "r"."_revision", "r"."done", "r"."due", "r"."grp", "r"."score", "r"."title"
FROM "app"."item" AS "r"
WHERE "r"."_id" = :id::text
AND "r"."_database" = '_public'
AND ("r"."_access" IS NULL OR "r"."_owner" = :user
OR coalesce("r"."_access" ?| (SELECT :audience::text::text[]), false));
