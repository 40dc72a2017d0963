# shellcheck shell=bash
# Live queries: what they cost writers, how late changes arrive, and what many of them take. `live-load.c` holds the clients.

# The present side with limits that one address and one user do not reach.
start_live_side() {
    start_side --live-connections-per-user 1000000 --live-connections-per-client 1000000 \
        --maximum-connections "$((2 * CLIENTS + 1000))" --client-share 100 --idle-timeout 1h "$@"
}

# load CLIENTS PROTOCOL [OPTION...]: opens clients of the present side and waits until they are subscribed.
load() {
    coproc LOAD { exec "$WORK/live-load" "$PORT" "$1" "$2" --key "$API_KEY" --token "$TOKEN" "${@:3}" 2>"$WORK/load.errors"; }
    local line
    read -r -t 120 line <&"${LOAD[0]}" || die "The clients failed: $(tail -n 3 "$WORK/load.errors")"
    [[ $line == open ]] || die "The clients said: $line"
}

# Without a user, whose share of subscriptions is smaller.
anonymous_load() { TOKEN='' load "$@"; }

# arrive SERIES: makes the changes; records SERIES.{p50,p99,seconds,event}, the last of which is the service's time for an event.
arrive() {
    local name=$1 line arrived expected p50 p99 seconds before after
    before=$(process_time "$SERVICE")
    echo go >&"${LOAD[1]}"
    read -r -t 300 line <&"${LOAD[0]}" || die "The clients failed: $(tail -n 3 "$WORK/load.errors")"
    after=$(process_time "$SERVICE")
    read -r _ arrived expected p50 p99 seconds <<<"$line"
    # A client of ours is sent a change twice around a resumption alone, and nothing resumes here. PocketBase repeats some.
    [[ $arrived == "$expected" || ($name == events.pocketbase && $arrived -gt $expected) ]] || die "Of $expected events $arrived arrived ($name)."
    record "$name.p50" "$p50"
    record "$name.p99" "$p99"
    record "$name.seconds" "$seconds"
    record "$name.event" "$(divide "$((after - before))" "$arrived")"
    record "$name.total" "$((after - before))"
}

unload() {
    local process=$LOAD_PID
    eval "exec ${LOAD[1]}>&-"
    wait "$process" 2>/dev/null || true
}

INSERT="INSERT INTO app.entry (_id, _owner, _created_by, _updated_by, title, grp, score, done, due)
    SELECT gen_random_uuid()::text, '%s', '%s', '%s', \$1, 1, 0.5, false, now()"

# writer WRITES RATE: the options of a load that inserts records by its own connection to PostgreSQL.
writer() {
    # shellcheck disable=SC2059
    WRITER=(--writes "$1" --rate "$2" --database "host=$CLUSTER user=postgres dbname=$PGDATABASE"
        --statement "$(printf "$INSERT" "$USER_ID" "$USER_ID" "$USER_ID")")
}

# Writes

writes_heading() { echo 'Live queries: what writes cost'; }

set_wal_level() {
    stop_side
    sql "ALTER SYSTEM SET wal_level = $1"
    (cd / && as_postgres "$POSTGRES_BIN/pg_ctl" --pgdata "$CLUSTER" --log "$CLUSTER_LOG" --wait restart) >/dev/null
    POSTMASTER=$(head -n 1 "$CLUSTER/postmaster.pid")
    start_live_side
}

writes_measure() {
    local round level type
    mkdir "$WORK/updates"
    for type in small large; do
        fill "$type" 100000
        printf '\\set n random(1, 100000)\nUPDATE app.%s SET score = score + 1 WHERE _id = (100000000000 + :n)::text;\n' "$type" \
            >"$WORK/updates/$type.sql"
    done
    # The index of a followed type.
    sql 'CREATE INDEX ON app.large (_database, _revision)'
    for ((round = 1; round <= ROUNDS; round++)); do
        note "Writes, round $round of $ROUNDS"
        for level in $(in_turns "$round" replica logical); do
            set_wal_level "$level"
            empty_entries
            measure_wrk save "writes.save.$level" entry "$ROWS"
        done
        set_wal_level logical
        empty_entries
        measure_wrk save writes.save.alone entry "$ROWS"
        load 1 events
        empty_entries
        measure_wrk save writes.save.followed entry "$ROWS"
        unload
        for type in $(in_turns "$round" small large); do
            sql "VACUUM app.$type" && sql CHECKPOINT
            CONNECTIONS=8 PGBENCH=$WORK/updates measure_pgbench "$type"
        done
    done
}

writes_report() {
    ratios writes.save.logical.rate writes.save.replica.rate writes.logical
    ratios writes.save.logical.time writes.save.replica.time writes.logical.time
    ratios writes.save.followed.rate writes.save.alone.rate writes.followed
    ratios writes.save.followed.time writes.save.alone.time writes.followed.time
    ratios large.pgbench.rate small.pgbench.rate writes.index
    ratios large.pgbench.database small.pgbench.database writes.index.time
    cat <<EOT
| | /s | of the other | spread | processor time, of the other |
|---|---|---|---|---|
| \`record:save\`, \`wal_level=logical\` and no live query, of \`replica\` | $(median writes.save.logical.rate %.0f) | $(median writes.logical %.2f) | $(spread writes.logical %.2f) | $(median writes.logical.time %.2f) |
| \`record:save\`, one live query that gets every record, of none | $(median writes.save.followed.rate %.0f) | $(median writes.followed %.2f) | $(spread writes.followed %.2f) | $(median writes.followed.time %.2f) |
| an update by id in SQL, with the index of followed types, of without | $(median large.pgbench.rate %.0f) | $(median writes.index %.2f) | $(spread writes.index %.2f) | $(median writes.index.time %.2f) |
EOT
}

# Events

events_heading() { echo 'Live queries: from a commit to the clients'; }

events_measure() {
    local round
    if [[ -n $POCKETBASE ]]; then
        add_side pocketbase "$POCKETBASE" pocketbase
        start_pocketbase
        make_collection entry ''
        use plain
    fi
    for ((round = 1; round <= ROUNDS; round++)); do
        note "Events, round $round of $ROUNDS"
        empty_entries
        writer "$((DURATION * 100))" 100
        anonymous_load 1 events "${WRITER[@]}"
        arrive events.one
        unload
        writer "$((DURATION * 10))" 10
        anonymous_load "$CLIENTS" events "${WRITER[@]}"
        arrive events.many
        unload
        load "$CLIENTS" floor --writes "$((DURATION * 10))" --rate 10
        arrive events.floor
        unload
        if [[ -n $POCKETBASE ]]; then
            use pocketbase
            load "$CLIENTS" pocketbase --writes "$((DURATION * 10))" --rate 10
            arrive events.pocketbase
            unload
            use plain
        fi
    done
    if [[ -n $POCKETBASE ]]; then
        use pocketbase
        stop_side
        use plain
    fi
}

events_report() {
    ratios events.many.p99 events.floor.p99 events.over
    ratios events.many.p50 events.floor.p50 events.over.p50
    cat <<EOT
| | p50 ms | p99 ms | spread of p99 | service µs an event |
|---|---|---|---|---|
| 1 client, 100 commits a second | $(median events.one.p50 %.2f) | $(median events.one.p99 %.2f) | $(spread events.one.p99 %.2f) | $(median events.one.event %.1f) |
| $(grouped "$CLIENTS") clients, 10 commits a second | $(median events.many.p50 %.2f) | $(median events.many.p99 %.2f) | $(spread events.many.p99 %.2f) | $(median events.many.event %.1f) |
| the same frames from C to as many sockets | $(median events.floor.p50 %.2f) | $(median events.floor.p99 %.2f) | $(spread events.floor.p99 %.2f) | |
EOT
    if [[ -n $POCKETBASE ]]; then
        ratios events.many.event events.pocketbase.event events.beside
        cat <<EOT
| PocketBase, $(grouped "$CLIENTS") clients, 10 new records a second | $(median events.pocketbase.p50 %.2f) | $(median events.pocketbase.p99 %.2f) | $(spread events.pocketbase.p99 %.2f) | $(median events.pocketbase.event %.1f) |
EOT
    fi
    cat <<EOT

Milliseconds are those from the moment when the writer knew of its commit until a client had read the change; every client gets every change, and the
clients share the machine with the service. With $(grouped "$CLIENTS") clients the p99 is $(median events.over %.2f) times that of the program in C
($(spread events.over %.2f)), the p50 $(median events.over.p50 %.2f) times.
EOT
    if [[ -n $POCKETBASE ]]; then
        echo "An event takes $(median events.beside %.3f) of the processor time of PocketBase's ($(spread events.beside %.3f))."
    fi
}

# Many

many_heading() { echo 'Live queries: many of them'; }

many_measure() {
    local round each=100 seconds=$((DURATION * 2)) before base
    for ((round = 1; round <= (ROUNDS < 3 ? ROUNDS : 3); round++)); do
        note "Many live queries, round $round"
        empty_entries
        writer "$((DURATION * 500))" 500
        # A new service, whose memory is what it holds for the clients alone.
        stop_side && start_live_side
        anonymous_load 1 events --subscriptions "$each" --distinct 1 --each 1 "${WRITER[@]}"
        arrive many.few
        unload
        stop_side && start_live_side
        base=$(memory "$SERVICE" Rss)
        anonymous_load "$CLIENTS" websocket
        record many.socket "$(per "$base" "$CLIENTS")"
        before=$(process_time "$SERVICE")
        sleep "$seconds"
        record many.idle "$(awk -v a="$before" -v b="$(process_time "$SERVICE")" -v s="$seconds" 'BEGIN { printf "%.3f", (b - a) / s / 10000 }')"
        unload
        stop_side && start_live_side
        anonymous_load "$CLIENTS" events
        base=$(memory "$SERVICE" Rss)
        unload
        anonymous_load "$CLIENTS" events --subscriptions "$each"
        record many.subscription "$(per "$base" "$((CLIENTS * (each - 1)))" 1048576)"
        unload
        stop_side && start_live_side
        anonymous_load "$CLIENTS" events
        base=$(memory "$SERVICE" Rss)
        unload
        anonymous_load "$CLIENTS" events --subscriptions "$each" --distinct 1 --each 1 "${WRITER[@]}"
        record many.group "$(per "$base" "$((CLIENTS * each))" 1048576)"
        before=$(process_time "$SERVICE")
        sleep "$seconds"
        record many.quiet "$(divide "$(($(process_time "$SERVICE") - before))" "$seconds")"
        arrive many.many
        unload
    done
}

# per BASE COUNT [UNIT]: what the service has more than BASE, which is in MB, for each of COUNT; in KB without a unit.
per() {
    awk -v a="$(memory "$SERVICE" Rss)" -v b="$1" -v n="$2" -v unit="${3:-1024}" 'BEGIN { printf "%.3f", (a - b) * unit / n }'
}

many_report() {
    local i total quiet seconds few of
    read -ra total <<<"$(series many.many.total)"
    read -ra quiet <<<"$(series many.quiet)"
    read -ra seconds <<<"$(series many.many.seconds)"
    read -ra few <<<"$(series many.few.event)"
    for i in "${!total[@]}"; do
        of=$(awk -v t="${total[i]}" -v q="${quiet[i]}" -v s="${seconds[i]}" -v n="$((DURATION * 500))" 'BEGIN { printf "%.3f", (t - q * s) / n }')
        record many.change "$of"
        record many.over "$(divide "$of" "${few[i]}")"
    done
    cat <<EOT
| | | spread |
|---|---|---|
| service µs for a change that one of 100 live queries gets | $(median many.few.event %.1f) | $(spread many.few.event %.1f) |
| that one of $(grouped "$((CLIENTS * 100))") gets | $(median many.change %.1f) | $(spread many.change %.1f) |
| as a ratio | **$(median many.over %.2f)** | $(spread many.over %.2f) |
| memory of an idle WebSocket, KB | $(median many.socket %.1f) | $(spread many.socket %.1f) |
| of one more subscription to the same query, bytes | $(median many.subscription %.0f) | $(spread many.subscription %.0f) |
| of one to a query of its own, bytes | $(median many.group %.0f) | $(spread many.group %.0f) |
| a core's share with $(grouped "$CLIENTS") idle WebSockets, % | $(median many.idle %.2f) | $(spread many.idle %.2f) |

Each of $(grouped "$CLIENTS") clients has 100 live queries by \`grp = n\`, all different, and 500 records a second are written that concern one of them. What the service
takes by itself in that time, keep-alive of the streams among it, is subtracted.
EOT
}
