-- Indexes that are built while records are written.

CREATE TABLE _index (
    name text COLLATE "C" PRIMARY KEY,
    type text COLLATE "C" NOT NULL,
    kind text,
    fields text[] NOT NULL DEFAULT '{}',
    is_unique boolean NOT NULL DEFAULT false,
    nulls_equal boolean NOT NULL DEFAULT false,
    state text NOT NULL DEFAULT 'building' CHECK (state IN ('building', 'ready', 'failed', 'deleting')),
    attempts integer NOT NULL DEFAULT 0,
    has_begun boolean NOT NULL DEFAULT false,
    reason text,
    duplicates bigint,
    sql_state text,
    changed_at timestamptz NOT NULL DEFAULT now()
);
COMMENT ON TABLE _index IS 'The indexes of record types that were asked for, and those that are to go.';
COMMENT ON COLUMN _index.name IS 'The name of the index.';
COMMENT ON COLUMN _index.type IS 'The record type.';
COMMENT ON COLUMN _index.kind IS 'What it serves; NULL: it was made by other means, and is to go.';
COMMENT ON COLUMN _index.fields IS 'Its fields: year desc, title fold.';
COMMENT ON COLUMN _index.is_unique IS 'Whether no two records of a database have the same values.';
COMMENT ON COLUMN _index.nulls_equal IS 'Whether records without a value count as having the same one.';
COMMENT ON COLUMN _index.state IS 'building until it is ready or failed; deleting until it is gone.';
COMMENT ON COLUMN _index.attempts IS 'How often its build was begun and not stopped in an orderly way.';
COMMENT ON COLUMN _index.has_begun IS 'Whether it ever was, so that what bears the name is ours.';
COMMENT ON COLUMN _index.reason IS 'Why it failed; of one that is being built, why the last attempt did.';
COMMENT ON COLUMN _index.duplicates IS 'How many values several records have that were to be unique.';
COMMENT ON COLUMN _index.sql_state IS 'What PostgreSQL refused it with.';
COMMENT ON COLUMN _index.changed_at IS 'When the row was last changed.';
