# shellcheck shell=bash
# The types and rows that are measured.

# fill TYPE ROWS [ACCESS]: rows 100000000001 and up, twenty to each value of grp, indexed by it.
fill() {
    note "Loading $2 rows of $1"
    sql <<SQL
INSERT INTO app.$1 (_id, _owner, _access, _created_by, _updated_by, title, grp, score, done, due)
SELECT (100000000000 + i)::text, '$USER_ID', ${3:-NULL}, '$USER_ID', '$USER_ID', 'Item ' || md5(i::text), 1 + i % ($2 / 20),
       i / 7.0, i % 2 = 0, timestamptz '2026-01-01' + i * interval '1 minute'
FROM generate_series(1, $2) AS i;
CREATE INDEX ON app.$1 (grp);
VACUUM (ANALYZE) app.$1;
SQL
}

describe_types() {
    local type fields separator='' types=''
    fields='[{"name":"title","type":"string"},{"name":"grp","type":"integer"},{"name":"score","type":"number"},{"name":"done","type":"boolean"},{"name":"due","type":"datetime"}]'
    for type in item entry listed small large; do
        types+="$separator\"$type\":{\"fields\":$fields}"
        separator=,
    done
    types+=",\"linked\":{\"fields\":${fields%]},{\"name\":\"item\",\"type\":\"ref(item)\"}]}"
    call "$MASTER_KEY" schema:create "{\"record_types\":{$types}}" >/dev/null
}

# Without the tombstones that emptying a table leaves; a checkpoint, so that none is due soon.
empty_entries() {
    sql <<'SQL'
SET session_replication_role = replica;
TRUNCATE app.entry, app.linked;
CHECKPOINT;
SQL
}
