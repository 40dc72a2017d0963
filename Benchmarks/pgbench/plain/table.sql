-- The table that a person would write for the records that are measured.
CREATE SCHEMA plain;
CREATE TABLE plain.item (
    id text PRIMARY KEY,
    created_at timestamptz NOT NULL DEFAULT now(),
    title text,
    grp bigint,
    score double precision,
    done boolean,
    due timestamptz
);
CREATE TABLE plain.entry (LIKE plain.item INCLUDING ALL);
INSERT INTO plain.item (id, created_at, title, grp, score, done, due)
SELECT _id, _created_at, title, grp, score, done, due FROM app.item;
CREATE INDEX ON plain.item (grp);
CREATE INDEX ON plain.entry (grp);
VACUUM (ANALYZE) plain.item;
