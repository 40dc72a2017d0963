-- differs: by hand, one statement that adds the member and stamps its record, without conditions of access
\set film random(2, least(100000, :films))
\set person random(1, 50000)
WITH added AS (INSERT INTO app."film.cast" (_from, _to) VALUES ('f' || :film, 'p' || :person) ON CONFLICT DO NOTHING)
UPDATE app.film SET _updated_at = now(), _revision = app._revision() WHERE _id = 'f' || :film;
