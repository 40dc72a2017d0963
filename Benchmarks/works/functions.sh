# shellcheck shell=bash
# Functions and hooks: calls of a function server through the service beside wrk straight to the server, in JavaScript and, where
# py-skygear is installed, in Python; the same works with a hundred functions and fifty hooks registered as without; and saves that
# a hook sees beside those that none does.

functions_heading() { echo 'Functions and hooks'; }

# free_port OFFSET: a port above those of the sides.
free_port() { echo $((FIRST_PORT + 60 + $1)); }

# start_functions NAME PORT COMMAND...: starts a function server in the folder of its file, and waits until it listens; adds its
# process to FUNCTION_SERVERS.
start_functions() {
    local name=$1 port=$2
    shift 2
    (cd "$WORK/functions" && exec setpriv --pdeathsig TERM env SKYROW_ENDPOINT="http://127.0.0.1:$PORT" API_KEY="$API_KEY" MASTER_KEY="$MASTER_KEY" \
        DATABASE_URL="postgresql://postgres@/bench?host=$CLUSTER" LOG_LEVEL=ERROR "$@") >>"$WORK/$name.log" 2>&1 &
    FUNCTION_SERVERS+=("$!")
    until (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; do
        kill -0 "${FUNCTION_SERVERS[-1]}" 2>/dev/null || die "The function server ended: $(tail -n 5 "$WORK/$name.log")"
        sleep 0.1
    done
}

stop_functions() {
    local server
    for server in "${FUNCTION_SERVERS[@]}"; do
        kill -TERM "$server" 2>/dev/null || true
        wait "$server" 2>/dev/null || true
    done
    FUNCTION_SERVERS=()
}

# run_post URL SECONDS BODY EXPECTED CHECK [NAME VALUE]...: prints requests, microseconds and p50 of one call over and over.
run_post() {
    local url=$1 seconds=$2 line requests microseconds wrong p50
    shift 2
    wrk --threads "$((CONNECTIONS < 2 ? 1 : 2))" --connections "$CONNECTIONS" --duration "${seconds}s" --timeout 10s \
        --script "$HERE/post.lua" "$url" -- "$@" >"$WORK/wrk.out" 2>&1 || die "wrk failed: $(tail -n 3 "$WORK/wrk.out")"
    line=$(sed -n 's/^MEASURED //p' "$WORK/wrk.out")
    [[ -n $line ]] || die "wrk gave no result: $(tail -n 5 "$WORK/wrk.out")"
    read -r requests microseconds wrong p50 <<<"$line"
    ((wrong == 0 && requests > 0)) \
        || die "$wrong of $requests responses of $url were wrong; the first: $(sed -n 's/^WRONG //p' "$WORK/wrk.out" | head -n 1)"
    printf '%s %s %s\n' "$requests" "$microseconds" "$p50"
}

# measure_post SERIES URL BODY EXPECTED [NAME VALUE]...: records SERIES.rate and SERIES.p50, in microseconds, after a second in which
# each response is looked at.
measure_post() {
    local series=$1 url=$2 body=$3 expected=$4 measured requests microseconds p50
    shift 4
    run_post "$url" 1 "$body" "$expected" check "$@" >/dev/null
    measured=$(run_post "$url" "$DURATION" "$body" "$expected" '' "$@")
    read -r requests microseconds p50 <<<"$measured"
    record "$series.rate" "$(divide "$((requests * 1000))" "$((microseconds / 1000))")"
    record "$series.p50" "$p50"
}

# measure_call SERIES SIDE PORT NAME: a function of that server through the service, or wrk straight to it.
measure_call() {
    local call='{"kind":"op","name":"'"$4"'","param":{"args":{"value":"x"}},"context":{"access_key_type":"client","request_id":"r"}}'
    if [[ $2 == direct ]]; then
        measure_post "$1" "http://127.0.0.1:$3/" "$call" '"x"'
    else
        measure_post "$1" "http://127.0.0.1:$PORT/rpc" \
            '{"jsonrpc":"2.0","id":1,"method":"function:call","params":{"name":"'"$4"'","args":{"value":"x"}}}' \
            '"x"' X-Skygear-API-Key "$API_KEY"
    fi
}

# The function server in JavaScript, its hooks on two types, and a second one with a hundred functions and fifty hooks of others.
write_functions() {
    mkdir -p "$WORK/functions"
    cat >"$WORK/functions/hooked.mjs" <<'EOT'
skyrow.define("echo", ({ value }) => value)
skyrow.beforeSave("hooked", ({ record }) => { record.grp += 1 })
EOT
    cat >"$WORK/functions/many.mjs" <<'EOT'
for (let number = 0; number < 100; number += 1) skyrow.define(`function${number}`, () => number)
for (let number = 0; number < 50; number += 1) skyrow.beforeSave(`type${number}`, () => {})
EOT
    cat >"$WORK/functions/app.py" <<'EOT'
import skygear


@skygear.op("pyecho")
def echo(value):
    return value
EOT
}

# wait_for_function NAME: until the present side answers it.
wait_for_function() {
    local body='{"jsonrpc":"2.0","id":1,"method":"function:call","params":{"name":"'"$1"'","args":{"value":"x"}}}' tries
    for ((tries = 0; tries < 300; tries++)); do
        [[ $(curl --silent --max-time 10 "http://127.0.0.1:$PORT/rpc" --header "X-Skygear-API-Key: $API_KEY" --data "$body") \
            == *'"result"'* ]] && return
        sleep 0.1
    done
    die "The function $1 does not answer: $(tail -n 5 "$WORK/service.log")"
}

# A database with the same rows, whose service has a function server.
start_functions_side() {
    local fields='[{"name":"title","type":"string"},{"name":"grp","type":"integer"},{"name":"score","type":"number"},{"name":"done","type":"boolean"},{"name":"due","type":"datetime"}]'
    make_database "$1"
    add_side "$1" "$MEASURED" "$1"
    start_side --function-servers "$2"
    sign_up
    describe_types
    call "$MASTER_KEY" schema:create "{\"record_types\":{\"hooked\":{\"fields\":$fields}}}" >/dev/null
    fill item "$ROWS"
}

functions_measure() {
    local round side work languages='node' server=$ROOT/Examples/functions/skyrow-functions.mjs connections=$CONNECTIONS
    local node many python servers
    local -A types=([without]=entry [with]=hooked)
    need_programs node
    FUNCTION_SERVERS=()
    node=$(free_port 0) many=$(free_port 1) python=$(free_port 2)
    write_functions
    start_functions node "$node" node "$server" "127.0.0.1:$node" hooked.mjs
    start_functions many "$many" node "$server" "127.0.0.1:$many" many.mjs
    servers=node=http://127.0.0.1:$node
    if command -v py-skygear >/dev/null; then
        languages+=' python'
        start_functions python "$python" py-skygear --http --http-addr "127.0.0.1:$python" app.py
        servers+=,python=http://127.0.0.1:$python
    else
        note "py-skygear is not installed, so its calls are not measured"
    fi
    start_functions_side hooks "$servers"
    wait_for_function echo
    if [[ $languages == *python* ]]; then wait_for_function pyecho; fi
    start_functions_side many "many=http://127.0.0.1:$many"
    wait_for_function function0
    for ((round = 1; round <= ROUNDS; round++)); do
        note "Functions and hooks, round $round of $ROUNDS"
        use hooks
        for side in $(in_turns "$round" direct service); do
            measure_call "call.node.$side" "$side" "$node" echo
            if [[ $languages == *python* ]]; then measure_call "call.python.$side" "$side" "$python" pyecho; fi
            CONNECTIONS=1
            measure_call "call.one.$side" "$side" "$node" echo
            CONNECTIONS=$connections
        done
        for work in save batch; do
            for side in $(in_turns "$round" without with); do
                sql 'SET session_replication_role = replica; TRUNCATE app.entry, app.hooked; CHECKPOINT' >/dev/null
                measure_wrk "$work" "hooks.$work.$side" "${types[$side]}" "$ROWS"
            done
        done
        for work in fetch query save; do
            for side in $(in_turns "$round" plain many); do
                use "$side"
                measure_side "$work" "registered.$work.$side"
            done
        done
    done
    for side in hooks many; do
        use "$side"
        stop_side
    done
    use plain
    stop_functions
}

# call_row NAME SERIES MUST: a row of the table of calls.
call_row() {
    ratios "$2.service.rate" "$2.direct.rate" "$2.ratio"
    printf '| %s | %s/s | %s/s | %s (%s) | %s |\n' "$1" "$(median "$2.service.rate" %.0f)" "$(median "$2.direct.rate" %.0f)" \
        "$(median "$2.ratio" %.2f)" "$(spread "$2.ratio" %.2f)" "$3"
}

functions_report() {
    cat <<'EOT'
| A function that returns its argument | through the service | wrk straight to its server | ratio (spread) | at least |
|---|---|---|---|---|
EOT
    call_row 'JavaScript' call.node 0.40
    if [[ -n $(series call.python.service.rate) ]]; then call_row 'py-skygear' call.python 0.80; fi
    differences call.one.service.p50 call.one.direct.p50 call.one.added
    printf '\nAt one connection the service adds %s µs to a call (p50; %s), at most 400.\n\n' \
        "$(median call.one.added %.0f)" "$(spread call.one.added %.0f)"
    printf 'A hundred functions and fifty hooks of other types registered (at least 0.98):\n\n'
    print_sides registered 'fetch query save' plain 'without' many 'with'
    printf '\nA hook in JavaScript that changes a field; a call of it has all records of a batch (at least 0.30 and 0.50):\n\n'
    print_sides hooks 'save batch' without 'without a hook' with 'with one'
}
