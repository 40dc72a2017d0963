# Podman with a store of its own under $work, and what is done with it; a part of docker/try.

# A store of its own: the stand-ins have the names of public images, and must not be taken for them afterwards.
export CONTAINERS_CONF=$work/containers.conf CONTAINERS_STORAGE_CONF=$work/storage.conf
cat >"$CONTAINERS_CONF" <<END
[engine]
runtime = "${OCI_RUNTIME:-runc}"
cgroup_manager = "cgroupfs"
events_logger = "file"
[network]
network_backend = "netavark"
network_config_dir = "$work/networks"
[containers]
# Some machines allow no more than this shell has; podman would ask for a million.
default_ulimits = ["nofile=$(ulimit -Hn)", "nproc=4096"]
END
cat >"$CONTAINERS_STORAGE_CONF" <<END
[storage]
driver = "overlay"
graphroot = "$work/storage"
runroot = "$work/run"
END
mkdir -p "$work/networks"
# Without systemd podman runs no health checks, and warns each time; here the script
# looks.
podman() { command podman "$@" 2> >(grep --invert-match 'systemd connection' >&2); }

export SERVICE_IMAGE=localhost/skyrow:try DATABASE_IMAGE=docker.io/postgis/postgis:15-3.4
export PROXY_IMAGE=docker.io/library/haproxy:2.8
export SKYROW_PORT=${SKYROW_PORT:-3900} HTTPS_PORT=${HTTPS_PORT:-3943} HTTP_PORT=${HTTP_PORT:-3980}
export SERVICE_NETWORK=${SERVICE_NETWORK:-172.30.77.0/24}
# Settings of the shell that runs this are not those of the trial.
unset SKYROW_DEVELOPMENT SKYROW_LOG_LEVEL SKYROW_RATE_LIMIT_CLIENT

# The container in which systemd runs.
host=skyrow-systemd-try
project=
compose() { podman-compose -p "$project" -f "$stack" "$@"; }
# By name: what was made for a run that was killed half-way carries no label.
take_down() {
    [ -n "$project" ] || return 0
    local kind
    podman ps --all --format '{{.Names}}' | grep "^${project}_" |
        xargs --no-run-if-empty podman rm --force --time 20 >/dev/null 2>&1 || true
    for kind in volume network; do
        podman $kind ls --format '{{.Name}}' | grep "^${project}_" |
            xargs --no-run-if-empty podman $kind rm --force >/dev/null 2>&1 || true
    done
}
finish() {
    local status=$?
    if [ "$status" != 0 ] && [ -n "$project" ]; then
        for name in $(podman ps --all --format '{{.Names}}' | grep "^${project}_"); do
            printf -- '-- the end of the log of %s\n' "$name" >&2
            podman logs --tail 15 "$name" >&2 2>&1 || true
        done
    fi
    if [ "$status" != 0 ]; then podman exec $host journalctl --unit skyrow --no-pager --lines 15 >&2 2>/dev/null || true; fi
    take_down
    podman rm --force --time 20 $host >/dev/null 2>&1 || true
    rm -rf "$work/production" "$work/context" "$work/package"
    if [ -z "$keep" ]; then
        podman system reset --force >/dev/null 2>&1 || true
        rm -rf "$work"
    fi
    [ "$status" = 0 ] || echo "try: FAILED" >&2
}
trap finish EXIT

has_image() { podman image exists "$1"; }
build() {
    podman build --format docker --ulimit nofile="$(ulimit -Hn)" --ulimit nproc=4096 "$@" \
        >"$work/build.log" 2>&1 || { tail -n 40 "$work/build.log" >&2; fail "podman build failed"; }
}

# Waits for a command to succeed, two minutes at most.
await() {
    local what=$1 deadline=$((SECONDS + 120))
    shift
    until "$@" >/dev/null 2>&1; do
        [ $SECONDS -lt $deadline ] || fail "no $what after two minutes"
        sleep 0.5
    done
    echo "ok: $what"
}
expect() {  # what, what it is, what it should be
    [ "$2" = "$3" ] || fail "$1: $2, not $3"
    echo "ok: $1: $2"
}
healthy() { podman healthcheck run "$1"; }
call() {  # key, method, parameters; further arguments are curl's
    local key=$1 method=$2 parameters=$3
    shift 3
    curl --silent --show-error --max-time 30 "$url/rpc" --header "X-Skygear-API-Key: $key" \
        --header 'Content-Type: application/json' "$@" \
        --data "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"$method\",\"params\":$parameters}"
}
note_type='{"record_types":{"note":{"fields":[{"name":"content","type":"string"}]}}}'
save() {
    call "$1" record:save "{\"records\":[{\"_id\":\"note/$2\",\"content\":\"Hello\"}]}" "${@:3}"
}
saved() { [ "$(save "$@" 2>/dev/null | jq --raw-output '.result[0]._id // empty' 2>/dev/null)" = "note/$2" ]; }
# Follows the notes in an event stream, saves one, and says how the stream calls what came of it.
live_change() {
    local key=$1 id=$2 follower
    shift 2
    : >"$work/events"
    curl --silent --no-buffer --max-time 60 "$url/live?record_type=note&initial=true" \
        --header "X-Skygear-API-Key: $key" "$@" >"$work/events" &
    follower=$!
    await "the beginning of an event stream" grep --quiet '"ready"' "$work/events" >&2
    saved "$key" "$id" "$@"
    await "the event of a change" grep --quiet "note/$id" "$work/events" >&2
    kill $follower 2>/dev/null
    wait $follower 2>/dev/null || true
    grep "note/$id" "$work/events" | grep --only-matching '"created"' | head -n 1 | tr -d '"'
}
content() { call "$1" record:fetch "{\"ids\":[\"note/$2\"]}" "${@:3}" | jq --raw-output '.result[0].content'; }
sql() { podman exec "$database" psql --username "$superuser" --dbname skyrow --no-align --tuples-only --command "$1"; }
