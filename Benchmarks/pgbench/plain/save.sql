\set id random(1000000000000000000, 1999999999999999999)
\set grp random(1, 1000000)
INSERT INTO plain.entry (id, title, grp, score, done, due) VALUES (:id::text, :id::text, :grp, 0.5, false, :due::timestamptz);
