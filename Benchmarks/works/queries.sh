# shellcheck shell=bash
# Questions of the query language beside SQL that a person writes for them, on a million rows: what PostgreSQL spends on
# the service's statement as a ratio to what it spends on the other.

# Those whose statements take so long that few connections are enough.
SLOW_WORKS='path match aggregate'
QUERY_WORKS='filter prefix path include keyset near match members relate aggregate increment conditions'

is_slow() { [[ " $SLOW_WORKS " == *" $1 "* ]]; }

query_names() {
    case $1 in
        filter) echo 'equality, sort, 50 of all films' ;;
        prefix) echo '`starts_with`, sort by the same text, 50' ;;
        path) echo 'key path of three references, sort, 50' ;;
        include) echo '50 records with the one behind a reference' ;;
        keyset) echo 'the page of 50 behind a cursor, 50,000 records deep' ;;
        near) echo '`near` among 100,000 places, the nearest 50' ;;
        match) echo '`match` of two words in English, 50' ;;
        members) echo '`related_to`, 50 of 50,000 members, sorted by id' ;;
        relate) echo '`relate` of one member to a record that has three' ;;
        aggregate) echo '`record:aggregate`: count and average by year' ;;
        increment) echo '`inc` on one row, 32 clients' ;;
        conditions) echo 'twenty conditions, of which an index serves one, 20' ;;
    esac
}

# Films with a director, whose studio is in a country.
fill_films() {
    local film='[{"name":"title","type":"string"},{"name":"year","type":"integer"},{"name":"rating","type":"number"},{"name":"votes","type":"integer"},{"name":"director","type":"ref(person)"},{"name":"plot","type":"string","text":"english"},{"name":"cast","type":"relation(person)"}]'
    local person='[{"name":"name","type":"string"},{"name":"studio","type":"ref(studio)"}]'
    local studio='[{"name":"name","type":"string"},{"name":"country","type":"ref(country)"}]'
    local country='[{"name":"name","type":"string"}]'
    local place='[{"name":"name","type":"string"},{"name":"at","type":"location"}]'
    note "Loading $FILMS films"
    call "$MASTER_KEY" schema:create "{\"record_types\":{\"country\":{\"fields\":$country}}}" >/dev/null
    call "$MASTER_KEY" schema:create "{\"record_types\":{\"studio\":{\"fields\":$studio}}}" >/dev/null
    call "$MASTER_KEY" schema:create "{\"record_types\":{\"person\":{\"fields\":$person}}}" >/dev/null
    call "$MASTER_KEY" schema:create "{\"record_types\":{\"film\":{\"fields\":$film}}}" >/dev/null
    call "$MASTER_KEY" schema:create "{\"record_types\":{\"place\":{\"fields\":$place}}}" >/dev/null
    sql <<SQL
INSERT INTO app.country (_id, _owner, _created_by, _updated_by, name)
SELECT 'c' || i, '$USER_ID', '$USER_ID', '$USER_ID', 'Country ' || i FROM generate_series(1, 100) AS i;
INSERT INTO app.studio (_id, _owner, _created_by, _updated_by, name, country)
SELECT 's' || i, '$USER_ID', '$USER_ID', '$USER_ID', 'Studio ' || i, 'c' || 1 + i % 100 FROM generate_series(1, 1000) AS i;
INSERT INTO app.person (_id, _owner, _created_by, _updated_by, name, studio)
SELECT 'p' || i, '$USER_ID', '$USER_ID', '$USER_ID', 'Person ' || i, 's' || 1 + i % 1000
FROM generate_series(1, 50000) AS i;
-- Eight words of a plot are among two thousand.
INSERT INTO app.film (_id, _owner, _created_by, _updated_by, title, year, rating, votes, director, plot)
SELECT 'f' || i, '$USER_ID', '$USER_ID', '$USER_ID', md5(i::text) || ' ' || i, 1900 + i % 120, (i::bigint * 7919 % 1000003) / 100000.0,
       i * 31 % 100000, 'p' || 1 + i % 50000,
       (SELECT string_agg('word' || (i::bigint * 7919 + k * (i % 977) * 104729) % 2000, ' ') FROM generate_series(1, 8) AS k)
FROM generate_series(1, $FILMS) AS i;
INSERT INTO app."film.cast" (_from, _to) SELECT 'f1', 'p' || i FROM generate_series(1, 50000) AS i;
INSERT INTO app."film.cast" (_from, _to)
SELECT 'f' || i, 'p' || 1 + (i * 7 + k * 101) % 50000 FROM generate_series(2, least(100000, $FILMS)) AS i, generate_series(1, 3) AS k;
INSERT INTO app.place (_id, _owner, _created_by, _updated_by, name, at)
SELECT 'l' || i, '$USER_ID', '$USER_ID', '$USER_ID', 'Place ' || i,
       postgis.ST_MakePoint(i::bigint * 7919 % 360000 / 1000.0 - 180, i::bigint * 104729 % 170000 / 1000.0 - 85)::postgis.geography
FROM generate_series(1, 100000) AS i;
CREATE INDEX ON app.film (year, rating, _id);
CREATE INDEX ON app.film (rating, _id);
CREATE INDEX ON app.film (title, _id);
-- The service's, which cuts what is too long, and that of the statement by hand.
CREATE INDEX ON app.film USING gin (app._words('pg_catalog.english'::regconfig, plot));
CREATE INDEX ON app.film USING gin (to_tsvector('pg_catalog.english', plot));
CREATE INDEX ON app.place USING gist (at);
VACUUM (ANALYZE) app.country, app.studio, app.person, app.film, app."film.cast", app.place;
SQL
}

# The cursor of a record deep in the order by rating, and the values that it stands for.
find_place() {
    local page sort='[[{"$type":"keypath","$val":"rating"},"desc"]]'
    page=$(call "$API_KEY" record:query "{\"record_type\":\"film\",\"sort\":$sort,\"limit\":1,\"offset\":50000}")
    CURSOR=$(member cursor <<<"$page")
    export CURSOR
    read -r CURSOR_RATING CURSOR_ID < <(sql "SELECT rating || ' ' || _id FROM app.film ORDER BY rating DESC, _id DESC LIMIT 1 OFFSET 50000")
}

# Another number of films than a million has a section of its own.
queries_heading() {
    if ((FILMS == 1000000)); then echo 'Queries beside SQL by hand'; else echo "Queries beside SQL by hand: $(grouped "$FILMS") films"; fi
}
queries_measure() {
    local round work many=$CONNECTIONS
    use plain
    fill_films
    find_place
    for ((round = 1; round <= ROUNDS; round++)); do
        note "Queries beside SQL by hand, round $round of $ROUNDS"
        for work in $QUERY_WORKS; do
            # Of a statement that takes tens of milliseconds, what many clients have in flight at the end of a measurement would be
            # as much as all that it counts.
            if is_slow "$work"; then local CONNECTIONS=2; else local CONNECTIONS=$many; fi
            measure_pgbench "queries/$work" --define rating="$CURSOR_RATING" --define id="$CURSOR_ID" --define films="$FILMS"
            if [[ $work == conditions ]]; then
                measure_wrk query queries.one item "$ROWS"
                measure_wrk conditions queries.conditions item "$ROWS"
            else
                measure_wrk "$work" "queries.$work" film "$FILMS"
            fi
            # Two connections leave PostgreSQL idle between the requests of the service, and not between the statements of pgbench. A
            # statement after a pause of two milliseconds takes up to twice the time, so both have the same pauses.
            if is_slow "$work"; then
                RECORDED=queries/$work.paced measure_pgbench "queries/$work" --rate "${SERIES[queries.$work.rate]##* }" \
                    --define films="$FILMS"
            fi
        done
    done
    sql "SET session_replication_role = replica; TRUNCATE app.film, app.\"film.cast\", app.person, app.studio, app.country, app.place; CHECKPOINT"
}
queries_report() {
    local work by_hand
    cat <<'EOT'
| Query | SQL by hand: PostgreSQL µs | the service's: PostgreSQL µs | ratio | spread | service µs | requests /s to pgbench |
|---|---|---|---|---|---|---|
EOT
    for work in $QUERY_WORKS; do
        by_hand=queries/$work.pgbench.database
        if is_slow "$work"; then by_hand=queries/$work.paced.pgbench.database; fi
        ratios "queries.$work.database" "$by_hand" "queries.$work.ratio"
        ratios "queries.$work.rate" "queries/$work.pgbench.rate" "queries.$work.rate-ratio"
        printf '| %s | %s | %s | %s | %s | %s | %s |\n' "$(query_names "$work")" \
            "$(median "$by_hand" %.0f)" "$(median "queries.$work.database" %.0f)" \
            "$(median "queries.$work.ratio" %.2f)" "$(spread "queries.$work.ratio" %.2f)" \
            "$(median "queries.$work.server" %.0f)" "$(median "queries.$work.rate-ratio" %.2f)"
    done
    differences queries.conditions.server queries.one.server queries.predicate
    echo
    echo "Nineteen conditions more take the service $(median queries.predicate %.0f) µs ($(spread queries.predicate %.0f)): to read, resolve, print and bind them."
    echo "Key path, \`match\` and aggregate have 2 connections; the time of PostgreSQL by hand is that at the service's rate. The service's statements have the conditions of access, those by hand have none; $(grouped "$FILMS") films of 50,000 directors."
}
