# shellcheck shell=bash
# The change feed: what a client asks for that was away.

feed_heading() { echo 'The change feed'; }

# pages ACTION TYPE LIMIT: asks for all pages, until the token comes; sets PAGES_TOKEN and PAGES_BYTES. What is asked for stands at its end; bash
# and sed search long texts slowly.
pages() {
    local cursor='' page=$WORK/feed.page
    PAGES_BYTES=0 PAGES_TOKEN=
    while [[ -z $PAGES_TOKEN ]]; do
        curl --silent --show-error --max-time 60 "http://127.0.0.1:$PORT/rpc" --output "$page" \
            --header 'Content-Type: application/json' --header "X-Skygear-API-Key: $API_KEY" --header "Authorization: Bearer $TOKEN" \
            --data "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"$1\",\"params\":{\"record_type\":\"$2\",\"limit\":$3${cursor:+,\"cursor\":\"$cursor\"}}}"
        grep --quiet '"result"' "$page" || die "$1 was refused: $(head -c 300 "$page")"
        PAGES_BYTES=$((PAGES_BYTES + $(stat --format %s "$page")))
        cursor=$(tail --bytes 1000 "$page" | member cursor)
        PAGES_TOKEN=$(tail --bytes 1000 "$page" | member token)
    done
}

feed_measure() {
    local round type rows tenth=$((ROWS / 10)) first
    declare -gA FEED_TOKEN=()
    mkdir "$WORK/feed"
    # What writes have left.
    sql "SET session_replication_role = replica; TRUNCATE app.small, app.item CASCADE"
    for type in small item; do
        rows=$([[ $type == item ]] && echo "$ROWS" || echo "$tenth")
        fill "$type" "$rows"
        sql "CREATE INDEX ON app.$type (_database, _revision)"
        sql "VACUUM ANALYZE app.$type"
    done
    stop_side && start_live_side
    pages changes:compare small 5000
    record feed.compare "$PAGES_BYTES"
    pages changes:fetch small 1000
    record feed.load "$PAGES_BYTES"
    for type in small item; do
        rows=$([[ $type == item ]] && echo "$ROWS" || echo "$tenth")
        pages changes:fetch "$type" 1000
        FEED_TOKEN[$type.changed]=$PAGES_TOKEN
        sql "UPDATE app.$type SET score = score + 1 WHERE _id IN (SELECT (100000000000 + i * $((rows / 1000)))::text FROM generate_series(1, 1000) AS i)"
        first=$(sql "SELECT max(_revision) FROM app.$type")
        pages changes:fetch "$type" 1000
        FEED_TOKEN[$type.none]=$PAGES_TOKEN
        cat >"$WORK/feed/$type.sql" <<SQL
SELECT _id, _owner, _access, _created_by, _updated_by, _created_at, _updated_at, _revision, title, grp, score, done, due FROM app.$type
WHERE _database = '_public' AND _revision >= $first AND (_access IS NULL OR _owner = '$USER_ID') ORDER BY _revision, _id LIMIT 1000;
SELECT id FROM app_internal._tombstone WHERE database = '_public' AND type = '$type' AND revision >= $first ORDER BY revision LIMIT 1000;
SQL
    done
    for ((round = 1; round <= ROUNDS; round++)); do
        note "The change feed, round $round of $ROUNDS"
        for type in $(in_turns "$round" small item); do
            RECORDED=feed.hand.$type CONNECTIONS=4 PGBENCH=$WORK/feed measure_pgbench "$type"
            rows=$([[ $type == item ]] && echo "$ROWS" || echo "$tenth")
            CHANGES=${FEED_TOKEN[$type.changed]} CONNECTIONS=4 measure_wrk changes "feed.changed.$type" "$type" "$rows"
            CHANGES=${FEED_TOKEN[$type.none]} CONNECTIONS=4 measure_wrk unchanged "feed.none.$type" "$type" "$rows"
            CONNECTIONS=4 measure_wrk fetch "feed.fetch.$type" "$type" "$rows"
        done
    done
}

feed_report() {
    ratios feed.changed.item.database feed.hand.item.pgbench.database feed.over
    ratios feed.changed.item.database feed.changed.small.database feed.grown
    ratios feed.none.item.time feed.fetch.item.time feed.idle
    cat <<EOT
| | PostgreSQL µs | service µs | of the other, PostgreSQL | spread |
|---|---|---|---|---|
| \`changes:fetch\`, 1,000 changes among $(grouped "$ROWS") records, of SQL by hand | $(median feed.changed.item.database %.0f) | $(median feed.changed.item.server %.0f) | $(median feed.over %.2f) | $(spread feed.over %.2f) |
| the same, of as many changes among $(grouped "$((ROWS / 10))") | $(median feed.changed.item.database %.0f) | $(median feed.changed.item.server %.0f) | $(median feed.grown %.2f) | $(spread feed.grown %.2f) |
| nothing new, of \`record:fetch\` of one id (with the service's time) | $(median feed.none.item.database %.0f) | $(median feed.none.item.server %.0f) | $(median feed.idle %.2f) | $(spread feed.idle %.2f) |

\`changes:compare\` of $(grouped "$((ROWS / 10))") records takes $(series feed.compare | sed -E -e ':a' -e 's/^([0-9]+)([0-9]{3})/\1,\2/' -e 'ta') bytes, which is $(awk -v a="$(series feed.compare)" -v b="$(series feed.load)" 'BEGIN { printf "%.2f", a / b }') of loading them all.
EOT
}
