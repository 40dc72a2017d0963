# shellcheck shell=bash
# A PostgreSQL cluster of the benchmark's own: stock configuration (synchronous commit and fsync on)
# but for the cache, which is as large as the service makes that of its own cluster; one Unix socket,
# no TCP, removed at the end.

find_postgres() {
    local folder
    if [[ -n ${SKYROW_POSTGRES_BIN:-} ]]; then
        POSTGRES_BIN=$SKYROW_POSTGRES_BIN
        return
    fi
    for folder in $(printf '%s\n' /usr/lib/postgresql/*/bin | sort -rV); do
        if [[ -x $folder/initdb ]]; then
            POSTGRES_BIN=$folder
            return
        fi
    done
    folder=$(command -v initdb) || die "PostgreSQL's initdb is neither in /usr/lib/postgresql nor on PATH."
    POSTGRES_BIN=$(dirname "$(readlink -f "$folder")")
}

# PostgreSQL refuses to run as root.
as_postgres() {
    if ((EUID == 0)); then
        setpriv --reuid=postgres --regid=postgres --init-groups "$@"
    else
        "$@"
    fi
}

# As in Sources/SkyrowServer/Postgres/ClusterSettings.swift: an eighth of the memory, 128 MB to 1 GB.
cache_size() {
    awk '$1 == "MemTotal:" { size = int($2 / 8192); print (size < 128 ? 128 : size > 1024 ? 1024 : size) }' /proc/meminfo
}

# start_cluster [LINE...]: further lines of postgresql.conf.
start_cluster() {
    CLUSTER=$WORK/cluster
    CLUSTER_LOG=$WORK/postgres.log
    mkdir "$CLUSTER"
    : >"$CLUSTER_LOG"
    if ((EUID == 0)); then chown postgres "$CLUSTER" "$CLUSTER_LOG"; fi
    (cd / && as_postgres "$POSTGRES_BIN/initdb" --pgdata "$CLUSTER" --username postgres --auth trust --encoding UTF8 \
        --locale C.UTF-8) >"$WORK/initdb.log" 2>&1 || die "initdb failed: $(tail -n 3 "$WORK/initdb.log")"
    cat >>"$CLUSTER/postgresql.conf" <<CONFIGURATION
listen_addresses = ''
unix_socket_directories = '$CLUSTER'
log_line_prefix = ''
shared_buffers = $(cache_size)MB
$(printf '%s\n' "$@")
CONFIGURATION
    (cd / && as_postgres "$POSTGRES_BIN/pg_ctl" --pgdata "$CLUSTER" --log "$CLUSTER_LOG" --wait start) \
        >/dev/null || die "PostgreSQL did not start: $(tail -n 3 "$CLUSTER_LOG")"
    POSTMASTER=$(head -n 1 "$CLUSTER/postmaster.pid")
    export PGHOST=$CLUSTER PGUSER=postgres PGDATABASE=postgres
    sql 'CREATE DATABASE bench' >/dev/null
    PGDATABASE=bench
}

stop_cluster() {
    [[ -n ${POSTMASTER:-} ]] || return 0
    (cd / && as_postgres "$POSTGRES_BIN/pg_ctl" --pgdata "$CLUSTER" --mode immediate --wait stop) >/dev/null 2>&1
    POSTMASTER=
}

# Runs SQL from the arguments, or from standard input without any; prints bare values.
sql() {
    if (($# > 0)); then
        "$POSTGRES_BIN/psql" --no-psqlrc --quiet --tuples-only --no-align --set ON_ERROR_STOP=1 --command "$1"
    else
        "$POSTGRES_BIN/psql" --no-psqlrc --quiet --tuples-only --no-align --set ON_ERROR_STOP=1
    fi
}

# Prints the text of the last statement that PostgreSQL logged while the given command ran.
statement_during() {
    local offset
    sql "ALTER SYSTEM SET log_statement = 'all'" && sql 'SELECT pg_reload_conf()' >/dev/null
    await_setting all
    offset=$(stat --format %s "$CLUSTER_LOG")
    "$@" >/dev/null
    sql 'ALTER SYSTEM RESET log_statement' && sql 'SELECT pg_reload_conf()' >/dev/null
    await_setting none
    tail --bytes "+$((offset + 1))" "$CLUSTER_LOG" | awk '
        /^LOG:  execute / { sub(/^LOG:  execute [^:]*: /, ""); text = $0; inside = 1; next }
        /^\t/ && inside { text = text " " $0; next }
        inside { print text; inside = 0 }
        END { if (inside) print text }' | { grep "${STATEMENT_MARK:-}" || true; } | tail -n 1
}

# Running backends take a new setting up between two commands; a new connection has it at once, so ask until it is so.
await_setting() {
    local value=
    until [[ $value == "$1" ]]; do value=$(sql 'SHOW log_statement'); done
}
