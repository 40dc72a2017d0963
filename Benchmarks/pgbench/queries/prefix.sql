-- differs: by hand, without conditions of access
\set from random(16, 255)
SELECT _id, _owner, _access, _created_at, _created_by, _updated_at, _updated_by, _revision,
    title, year, rating, votes, director, plot FROM app.film
WHERE title >= to_hex(:from::integer) AND title < to_hex(:from::integer) || 'g' ORDER BY title, _id LIMIT 50;
