-- differs: by hand, without conditions of access
\set year random(1900, 2019)
SELECT _id, _owner, _access, _created_at, _created_by, _updated_at, _updated_by, _revision,
    title, year, rating, votes, director, plot FROM app.film WHERE year = :year ORDER BY rating DESC, _id DESC LIMIT 50;
