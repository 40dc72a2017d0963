\set grp random(1, :groups)
SELECT _id, _owner, title FROM app.item WHERE grp = :grp ORDER BY title LIMIT 20;
