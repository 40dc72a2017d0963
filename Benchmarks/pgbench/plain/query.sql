\set grp random(1, :groups)
SELECT id, created_at, title, grp, score, done, due FROM plain.item
WHERE grp = :grp ORDER BY created_at DESC LIMIT 20;
