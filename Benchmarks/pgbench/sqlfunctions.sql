-- differs: the service wraps this SELECT in a call of the function `of_group`, which is what is measured.
\set limit 20
\set grp random(1, :groups)
SELECT "r"."_id", "r"."_access", "r"."_owner", "r"."_created_at", "r"."_created_by", "r"."_updated_at", "r"."_updated_by", "r"."_revision", "r"."done", "r"."due", "r"."grp", "r"."score", "r"."title"
FROM "app"."item" AS "r"
WHERE "r"."_database" = '_public'
AND ("r"."_access" IS NULL OR "r"."_owner" = :user
OR coalesce("r"."_access" ?| (SELECT :audience::text::text[]), false))
AND ("r"."grp" = :grp::bigint) ORDER BY "r"."title", "r"."_id" LIMIT :limit::bigint;
