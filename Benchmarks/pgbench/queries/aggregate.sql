-- differs: by hand, without conditions of access
\set least random(0, 9)
SELECT year, count(*), avg(rating) FROM app.film WHERE rating >= 9.9 + :least / 200.0 GROUP BY year ORDER BY year;
