\set id random(1000000000000000000, 1999999999999999999)
INSERT INTO app.entry (_id, _owner, title, grp) VALUES (:id::text, :user, 'Item ' || :id, 3);
