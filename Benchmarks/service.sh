# shellcheck shell=bash
# The service under test: the release build on the benchmark's cluster, with keys made for this one run.

find_service() {
    if [[ -z $BINARY ]]; then
        note "Building the release configuration"
        (cd "$ROOT" && make build) >"$WORK/build.log" 2>&1 \
            || die "The release build failed: $(tail -n 5 "$WORK/build.log")"
        BINARY=$(cd "$ROOT" && swift build --configuration release --show-bin-path)/skyrow
    fi
    [[ -x $BINARY ]] || die "There is no executable at $BINARY."
}

random_key() {
    od --address-radix=n --format=x1 --read-bytes=16 /dev/urandom | tr --delete ' \n'
}

# The keys of every service of the run.
make_keys() {
    API_KEY=$(random_key)
    MASTER_KEY=$(random_key)
}

# What the service is run by, such as valgrind; nothing else takes its process over.
RUNNER=()

# Starts the service with the given further arguments, without the limit of calls that one client has, and waits for its
# first response; sets STARTED_MS.
start_service() {
    local began now
    [[ -x $BINARY ]] || die "There is no executable at $BINARY."
    if (exec 3<>"/dev/tcp/127.0.0.1/$PORT") 2>/dev/null; then die "Something else listens on port $PORT; use --port."; fi
    export SKYROW_API_KEY=$API_KEY SKYROW_MASTER_KEY=$MASTER_KEY
    began=${EPOCHREALTIME/[.,]/}
    "${RUNNER[@]}" "$BINARY" serve --host 127.0.0.1 --port "$PORT" --development --rate-limit-client off "$@" >>"$WORK/service.log" 2>&1 &
    SERVICE=$!
    until responds; do
        kill -0 "$SERVICE" 2>/dev/null || die "The service ended: $(tail -n 5 "$WORK/service.log")"
        now=${EPOCHREALTIME/[.,]/}
        ((now - began < 60000000)) || die "The service gave no response for a minute: $(tail -n 5 "$WORK/service.log")"
    done
    now=${EPOCHREALTIME/[.,]/}
    STARTED_MS=$(((now - began + 500) / 1000))
}

# True when a query reaches the database and comes back; bash alone, because starting curl takes longer than the service.
# Without TLS, that is.
responds() {
    local body='{"jsonrpc":"2.0","id":1,"method":"record:query","params":{"record_type":"user","limit":0}}' status
    if [[ ${SCHEME:-http} == https ]]; then
        curl --silent --insecure --fail --max-time 5 --output /dev/null "https://127.0.0.1:$PORT/readyz"
        return
    fi
    {
        exec 3<>"/dev/tcp/127.0.0.1/$PORT" || return 1
        printf 'POST /rpc HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\n' >&3
        printf 'X-Skygear-API-Key: %s\r\nContent-Length: %d\r\n\r\n%s' "$API_KEY" "${#body}" "$body" >&3
        IFS= read -r status <&3
        exec 3>&-
    } 2>/dev/null
    [[ $status == 'HTTP/1.1 200'* ]]
}

stop_service() {
    [[ -n ${SERVICE:-} ]] || return 0
    kill -TERM "$SERVICE" 2>/dev/null || true
    wait "$SERVICE" 2>/dev/null || true
    SERVICE=
}

# call KEY METHOD PARAMS: one JSON-RPC call, whose response is printed; dies of an error.
call() {
    local key=$1 method=$2 params=$3 response headers=()
    if [[ -n ${TOKEN:-} && $key != "$MASTER_KEY" ]]; then headers=(--header "Authorization: Bearer $TOKEN"); fi
    response=$(curl --silent --show-error --insecure --max-time 60 "${SCHEME:-http}://127.0.0.1:$PORT/rpc" \
        --header 'Content-Type: application/json' --header "X-Skygear-API-Key: $key" "${headers[@]}" \
        --data "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"$method\",\"params\":$params}")
    [[ $response == *'"result"'* && $response != *'"error"'* ]] || die "$method was refused: $response"
    printf '%s\n' "$response"
}

# Prints the string member of that name in JSON on standard input.
member() {
    sed -n "s/.*\"$1\"[[:space:]]*:[[:space:]]*\"\([^\"]*\)\".*/\1/p" | head -n 1
}
