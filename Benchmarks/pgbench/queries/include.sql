-- differs: by hand, without conditions of access
\set year random(1900, 2019)
SELECT f._id, f._owner, f._access, f._created_at, f._created_by, f._updated_at, f._updated_by, f._revision,
    f.title, f.year, f.rating, f.votes, f.director, f.plot,
    p._id, p._owner, p._access, p._created_at, p._created_by, p._updated_at, p._updated_by, p._revision, p.name, p.studio
FROM app.film f LEFT JOIN app.person p ON p._id = f.director
WHERE f.year = :year ORDER BY f.rating DESC, f._id DESC LIMIT 50;
