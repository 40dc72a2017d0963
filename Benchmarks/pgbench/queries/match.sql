-- differs: by hand, without conditions of access
\set word random(0, 1999)
SELECT _id, _owner, _access, _created_at, _created_by, _updated_at, _updated_by, _revision,
    title, year, rating, votes, director, plot FROM app.film
WHERE to_tsvector('pg_catalog.english', plot) @@ to_tsquery('pg_catalog.english', 'word' || :word || ' | word' || (:word::integer + 1) % 2000)
ORDER BY _id LIMIT 50;
