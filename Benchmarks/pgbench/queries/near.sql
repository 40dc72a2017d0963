-- differs: by hand, without conditions of access
\set lng random(-179, 179)
\set lat random(-84, 84)
SELECT _id, _owner, _access, _created_at, _created_by, _updated_at, _updated_by, _revision, name, at FROM app.place
ORDER BY at OPERATOR(postgis.<->) postgis.ST_MakePoint(:lng::float8, :lat::float8)::postgis.geography LIMIT 50;
