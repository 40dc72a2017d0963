# shellcheck shell=bash
# Questions of the query language beside SQL that a person writes for them, on a million rows: what PostgreSQL spends on
# the service's statement as a ratio to what it spends on the other.

QUERY_WORKS='filter prefix path include keyset aggregate increment'

query_names() {
    case $1 in
        filter) echo 'equality, sort, 50 of a million' ;;
        prefix) echo '`starts_with`, sort by the same text, 50' ;;
        path) echo 'key path of three references, sort, 50' ;;
        include) echo '50 records with the one behind a reference' ;;
        keyset) echo 'the page of 50 behind a cursor, 50,000 records deep' ;;
        aggregate) echo '`record:aggregate`: count and average by year' ;;
        increment) echo '`inc` on one row, 32 clients' ;;
    esac
}

# Films with a director, whose studio is in a country.
fill_films() {
    local film='[{"name":"title","type":"string"},{"name":"year","type":"integer"},{"name":"rating","type":"number"},{"name":"votes","type":"integer"},{"name":"director","type":"ref(person)"}]'
    local person='[{"name":"name","type":"string"},{"name":"studio","type":"ref(studio)"}]'
    local studio='[{"name":"name","type":"string"},{"name":"country","type":"ref(country)"}]'
    local country='[{"name":"name","type":"string"}]'
    note "Loading $FILMS films"
    call "$MASTER_KEY" schema:create "{\"record_types\":{\"country\":{\"fields\":$country}}}" >/dev/null
    call "$MASTER_KEY" schema:create "{\"record_types\":{\"studio\":{\"fields\":$studio}}}" >/dev/null
    call "$MASTER_KEY" schema:create "{\"record_types\":{\"person\":{\"fields\":$person}}}" >/dev/null
    call "$MASTER_KEY" schema:create "{\"record_types\":{\"film\":{\"fields\":$film}}}" >/dev/null
    sql <<SQL
INSERT INTO app.country (_id, _owner, _created_by, _updated_by, name)
SELECT 'c' || i, '$USER_ID', '$USER_ID', '$USER_ID', 'Country ' || i FROM generate_series(1, 100) AS i;
INSERT INTO app.studio (_id, _owner, _created_by, _updated_by, name, country)
SELECT 's' || i, '$USER_ID', '$USER_ID', '$USER_ID', 'Studio ' || i, 'c' || 1 + i % 100 FROM generate_series(1, 1000) AS i;
INSERT INTO app.person (_id, _owner, _created_by, _updated_by, name, studio)
SELECT 'p' || i, '$USER_ID', '$USER_ID', '$USER_ID', 'Person ' || i, 's' || 1 + i % 1000
FROM generate_series(1, 50000) AS i;
INSERT INTO app.film (_id, _owner, _created_by, _updated_by, title, year, rating, votes, director)
SELECT 'f' || i, '$USER_ID', '$USER_ID', '$USER_ID', md5(i::text) || ' ' || i, 1900 + i % 120, (i * 7919 % 1000003) / 100000.0,
       i * 31 % 100000, 'p' || 1 + i % 50000
FROM generate_series(1, $FILMS) AS i;
CREATE INDEX ON app.film (year, rating, _id);
CREATE INDEX ON app.film (rating, _id);
CREATE INDEX ON app.film (title, _id);
VACUUM (ANALYZE) app.country, app.studio, app.person, app.film;
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

queries_heading() { echo 'Queries beside SQL by hand'; }
queries_measure() {
    local round work
    use plain
    fill_films
    find_place
    for ((round = 1; round <= ROUNDS; round++)); do
        note "Queries beside SQL by hand, round $round of $ROUNDS"
        for work in $QUERY_WORKS; do
            measure_pgbench "queries/$work" --define rating="$CURSOR_RATING" --define id="$CURSOR_ID" --define films="$FILMS"
            measure_wrk "$work" "queries.$work" film "$FILMS"
        done
    done
    sql "SET session_replication_role = replica; TRUNCATE app.film, app.person, app.studio, app.country; CHECKPOINT"
}
queries_report() {
    local work
    cat <<'EOT'
| Query | SQL by hand: PostgreSQL µs | the service's: PostgreSQL µs | ratio | spread | service µs | requests /s to pgbench |
|---|---|---|---|---|---|---|
EOT
    for work in $QUERY_WORKS; do
        ratios "queries.$work.database" "queries/$work.pgbench.database" "queries.$work.ratio"
        ratios "queries.$work.rate" "queries/$work.pgbench.rate" "queries.$work.rate-ratio"
        printf '| %s | %s | %s | %s | %s | %s | %s |\n' "$(query_names "$work")" \
            "$(median "queries/$work.pgbench.database" %.0f)" "$(median "queries.$work.database" %.0f)" \
            "$(median "queries.$work.ratio" %.2f)" "$(spread "queries.$work.ratio" %.2f)" \
            "$(median "queries.$work.server" %.0f)" "$(median "queries.$work.rate-ratio" %.2f)"
    done
    echo
    echo "The service's statements have the conditions of access, those by hand have none; $(grouped "$FILMS") films of 50,000 directors."
}
