-- differs: by hand, without conditions of access
SELECT _id, _owner, _access, _created_at, _created_by, _updated_at, _updated_by, _revision,
    title, year, rating, votes, director, plot FROM app.film
WHERE (rating, _id) < (:rating::double precision, :id) ORDER BY rating DESC, _id DESC LIMIT 50;
