# shellcheck shell=bash
# PocketBase beside the service: the same works, load and machine, in turns.

pocketbase_heading() { echo 'Beside PocketBase'; }

# pocketbase_call METHOD PATH [BODY]: one request of the superuser, whose response is printed; dies of an error.
pocketbase_call() {
    local response=$WORK/pocketbase.response body=()
    if (($# > 2)); then body=(--data "$3"); fi
    curl --silent --show-error --fail-with-body --max-time 120 --request "$1" "http://127.0.0.1:$PORT$2" --output "$response" \
        --header 'Content-Type: application/json' --header "Authorization: ${SUPERUSER:-}" "${body[@]}" \
        || die "PocketBase refused $1 $2: $(head -c 300 "$response")"
    cat "$response"
}

start_pocketbase() {
    local credentials='"password":"benchmark-passphrase"' login
    if (exec 3<>"/dev/tcp/127.0.0.1/$PORT") 2>/dev/null; then die "Something else listens on port $PORT; use --port."; fi
    "$POCKETBASE" superuser upsert bench@example.com benchmark-passphrase --dir "$WORK/pocketbase" >"$WORK/pocketbase.log" 2>&1 \
        || die "PocketBase made no superuser: $(tail -n 3 "$WORK/pocketbase.log")"
    # It writes no files of its own for changes of collections.
    "$POCKETBASE" serve --http "127.0.0.1:$PORT" --dir "$WORK/pocketbase" --automigrate=false >>"$WORK/pocketbase.log" 2>&1 &
    SERVICE=$!
    side_started
    until curl --silent --fail --output /dev/null "http://127.0.0.1:$PORT/api/health"; do
        kill -0 "$SERVICE" 2>/dev/null || die "PocketBase ended: $(tail -n 5 "$WORK/pocketbase.log")"
        sleep 0.1
    done
    SUPERUSER=$(pocketbase_call POST /api/collections/_superusers/auth-with-password \
        "{\"identity\":\"bench@example.com\",$credentials}" | member token)
    pocketbase_call PATCH /api/settings '{"batch":{"enabled":true,"maxRequests":1000,"timeout":60}}' >/dev/null
    pocketbase_call POST /api/collections/users/records \
        "{\"email\":\"user@example.com\",$credentials,\"passwordConfirm\":\"benchmark-passphrase\",\"verified\":true}" >/dev/null
    login=$(pocketbase_call POST /api/collections/users/auth-with-password "{\"identity\":\"user@example.com\",$credentials}")
    set_user "$(member token <<<"$login")" "$(member id <<<"$login")"
}

# A collection with the fields of the record types, which users who are logged in read and add to.
make_collection() {
    local rule='@request.auth.id != \"\"'
    pocketbase_call POST /api/collections "{\"name\":\"$1\",\"type\":\"base\",
        \"listRule\":\"$rule\",\"viewRule\":\"$rule\",\"createRule\":\"$rule\",\"indexes\":[$2],
        \"fields\":[{\"name\":\"title\",\"type\":\"text\"},{\"name\":\"grp\",\"type\":\"number\",\"onlyInt\":true},
        {\"name\":\"score\",\"type\":\"number\"},{\"name\":\"done\",\"type\":\"bool\"},{\"name\":\"due\",\"type\":\"date\"},
        {\"name\":\"created\",\"type\":\"autodate\",\"onCreate\":true},
        {\"name\":\"updated\",\"type\":\"autodate\",\"onCreate\":true,\"onUpdate\":true}]}" >/dev/null
}

# The rows of data.sh, a thousand in a request.
fill_collection() {
    local first
    note "Loading $ROWS rows into PocketBase"
    for ((first = 1; first <= ROWS; first += 1000)); do
        awk -v first="$first" -v rows="$ROWS" 'BEGIN {
            printf "{\"requests\":["
            for (i = first; i < first + 1000 && i <= rows; i++) {
                printf "%s{\"method\":\"POST\",\"url\":\"/api/collections/item/records\",\"body\":{\"id\":\"%015.0f\",\"title\":\"Item %d%030d\"," \
                    "\"grp\":%d,\"score\":%.6f,\"done\":%s,\"due\":\"2026-03-01 09:00:00.000Z\"}}", (i > first ? "," : ""), 100000000000 + i,
                    i * 7919 % 100, i, 1 + i % (rows / 20), i / 7, (i % 2 ? "false" : "true")
            }
            printf "]}"
        }' >"$WORK/rows.json"
        pocketbase_call POST /api/batch "@$WORK/rows.json" >/dev/null
    done
}

# As empty_entries, which leaves a new table too.
empty_collection() {
    pocketbase_call DELETE /api/collections/entry >/dev/null
    make_collection entry ''
}

measure_pocketbase() {
    use pocketbase
    case $1 in
        fetch | query) REQUESTS=pocketbase measure_wrk "$1" "beside.$1.pocketbase" item "$ROWS" ;;
        save | batch)
            empty_collection
            REQUESTS=pocketbase measure_wrk "$1" "beside.$1.pocketbase" entry "$ROWS"
            ;;
    esac
}

# The proportional memory of PostgreSQL's processes, MB.
postgres_memory() {
    local process
    for process in "$POSTMASTER" $(<"/proc/$POSTMASTER/task/$POSTMASTER/children"); do
        awk '$1 == "Pss:" { print $2 }' "/proc/$process/smaps_rollup" 2>/dev/null || true
    done | awk '{ sum += $1 } END { printf "%.1f\n", sum / 1024 }'
}

pocketbase_measure() {
    local round work side
    # It may lose the last commits, as SQLite does whose log is not synchronised with each of them.
    add_side relaxed "$MEASURED" relaxed
    make_database relaxed
    sql 'ALTER DATABASE relaxed SET synchronous_commit = off'
    start_side
    sign_up
    describe_types
    fill item "$ROWS"
    add_side pocketbase "$POCKETBASE" pocketbase
    start_pocketbase
    make_collection item '"CREATE INDEX item_grp ON item (grp)"'
    make_collection entry ''
    fill_collection
    for ((round = 1; round <= ROUNDS; round++)); do
        note "Beside PocketBase, round $round of $ROUNDS"
        for work in $WORKS; do
            for side in $(in_turns "$round" plain relaxed pocketbase); do
                if [[ $side == pocketbase ]]; then
                    measure_pocketbase "$work"
                elif [[ $side == plain || $work == save || $work == batch ]]; then
                    use "$side"
                    measure_side "$work" "beside.$work.$side"
                fi
            done
        done
    done
    use pocketbase
    record beside.rss "$(memory "$SERVICE" Rss)"
    stop_side
    use relaxed
    stop_side
    use plain
    record beside.service "$(memory "$SERVICE" Rss)"
    record beside.postgres "$(postgres_memory)"
}

pocketbase_row() {
    local label=$1 ours="beside.$2.$3" theirs="beside.$2.pocketbase"
    ratios "$ours.rate" "$theirs.rate" "$ours.rate-ratio"
    ratios "$ours.time" "$theirs.server" "$ours.time-ratio"
    printf '| %s | %s | %s | **%s** | %s | %s, %s | %s, %s | %s | %s | %s |\n' "$label" \
        "$(median "$ours.rate" %.0f)" "$(median "$theirs.rate" %.0f)" \
        "$(median "$ours.rate-ratio" %.2f)" "$(spread "$ours.rate-ratio" %.2f)" \
        "$(median "$ours.p50" %.2f)" "$(median "$ours.p99" %.2f)" "$(median "$theirs.p50" %.2f)" "$(median "$theirs.p99" %.2f)" \
        "$(median "$ours.time" %.0f)" "$(median "$theirs.server" %.0f)" "$(median "$ours.time-ratio" %.2f)"
}

pocketbase_report() {
    cat <<EOT
$("$POCKETBASE" --version | sed 's/^pocketbase version/PocketBase/'), its settings as they come but for a batch API that is on. What differs: PocketBase is one process with SQLite
inside, so a request crosses no second process, and it writes through one connection; its SQLite logs ahead with
\`synchronous = NORMAL\`, so a commit that was answered can be lost when the machine loses power, where Skyrow's commit is on
the disk. The rows "commit not awaited" are Skyrow with \`synchronous_commit = off\`, which may lose the last commits too.
Access is decided by one rule that asks for a login there, and by class, record list and owner here. Both log each request,
PocketBase into a second SQLite database.

| | Skyrow /s | PocketBase /s | ratio | spread | Skyrow p50, p99 ms | PocketBase p50, p99 ms | Skyrow + PostgreSQL µs | PocketBase µs | ratio |
|---|---|---|---|---|---|---|---|---|---|
EOT
    pocketbase_row 'one record by id' fetch plain
    pocketbase_row '20 rows by indexed equality, sorted' query plain
    pocketbase_row 'one new record' save plain
    pocketbase_row 'one new record, commit not awaited' save relaxed
    pocketbase_row '100 new records in a batch' batch plain
    pocketbase_row '100 new records, commit not awaited' batch relaxed
    cat <<EOT

After these rounds PocketBase had $(median beside.rss %.0f) MB of resident memory; the service had $(median beside.service %.0f) MB, and PostgreSQL, whose cache is
$(sql 'SHOW shared_buffers'), $(median beside.postgres %.0f) MB.
EOT
}
