-- differs: by hand, without conditions of access
\set country random(1, 100)
SELECT f._id, f._owner, f._access, f._created_at, f._created_by, f._updated_at, f._updated_by, f._revision,
    f.title, f.year, f.rating, f.votes, f.director, f.plot
FROM app.film f JOIN app.person p ON p._id = f.director JOIN app.studio s ON s._id = p.studio
JOIN app.country c ON c._id = s.country
WHERE c.name = 'Country ' || :country ORDER BY f.rating DESC, f._id DESC LIMIT 50;
