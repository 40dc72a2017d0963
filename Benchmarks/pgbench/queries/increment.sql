-- differs: by hand, without conditions of access
UPDATE app.film SET votes = votes + 1 WHERE _id = 'f1';
