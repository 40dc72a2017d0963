-- differs: by hand, without conditions of access
SELECT p._id, p._owner, p._access, p._created_at, p._created_by, p._updated_at, p._updated_by, p._revision, p.name, p.studio
FROM app."film.cast" l JOIN app.person p ON p._id = l._to WHERE l._from = 'f1' ORDER BY p._id LIMIT 50;
