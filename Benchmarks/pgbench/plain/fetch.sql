\set id 100000000000 + random(1, :rows)
SELECT id, created_at, title, grp, score, done, due FROM plain.item WHERE id = :id::text;
