\set id 100000000000 + random(1, :rows)
SELECT _id, _owner FROM app.item WHERE _id = :id::text;
