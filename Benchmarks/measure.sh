# shellcheck shell=bash
# One measurement each: pgbench or wrk for a while, with the processor time that went into it.

TICKS_PER_SECOND=$(getconf CLK_TCK)

# Processor time of a process in microseconds, ended threads included.
process_time() {
    awk -v ticks="$TICKS_PER_SECOND" '
        { sub(/^.*\) /, ""); printf "%d\n", ($12 + $13) * 1000000 / ticks }' "/proc/$1/stat"
}

# Processor time of PostgreSQL in microseconds: the postmaster, its living children, and those that have ended. A child that
# ends while it is read would count twice or not at all, so it is read again then.
postgres_time() {
    local child before after=
    until [[ ${before:-none} == "$after" ]]; do
        before=$(ended_time)
        {
            cat "/proc/$POSTMASTER/stat"
            for child in $(<"/proc/$POSTMASTER/task/$POSTMASTER/children"); do cat "/proc/$child/stat" 2>/dev/null || true; done
        } >"$WORK/times.postgres"
        after=$(ended_time)
    done
    awk -v ticks="$TICKS_PER_SECOND" '
        { sub(/^.*\) /, ""); time += $12 + $13; if (NR == 1) time += $14 + $15 }
        END { printf "%d\n", time * 1000000 / ticks }' "$WORK/times.postgres"
}

# Processor time of PostgreSQL's children that have ended, in ticks.
ended_time() { awk '{ sub(/^.*\) /, ""); print $14 + $15 }' "/proc/$POSTMASTER/stat"; }

# memory PID Rss|Pss: in megabytes, one decimal.
memory() {
    awk -v kind="$2:" '$1 == kind { printf "%.1f\n", $2 / 1024 }' "/proc/$1/smaps_rollup"
}

# record NAME VALUE: keeps a measured value; `series NAME` gives all of them.
declare -A SERIES
record() { SERIES[$1]="${SERIES[$1]:-}${SERIES[$1]:+ }$2"; }
series() { printf '%s' "${SERIES[$1]:-}"; }

divide() { awk -v a="$1" -v b="$2" 'BEGIN { printf "%.6f\n", b == 0 ? 0 : a / b }'; }

# measure_pgbench WORK [ARGUMENT...]: records WORK.pgbench.{rate,database,client}; the statement is in WORK.sql of the folder
# PGBENCH, which is that of this project. With RECORDED they are recorded under that name.
measure_pgbench() {
    local work=$1 name=${RECORDED:-$1} output before after times client transactions rate
    before=$(postgres_time)
    TIMEFORMAT='%U %S'
    { time "$POSTGRES_BIN/pgbench" --no-vacuum --protocol prepared --client "$CONNECTIONS" --jobs 2 --time "$DURATION" \
        --define rows="$ROWS" --define groups="$((ROWS / 20))" --define user="$USER_ID" --define due=2026-03-01T09:00:00Z \
        --define audience="{\"public\",\"user:$USER_ID\",\"users\"}" \
        "${@:2}" --file "${PGBENCH:-$HERE/pgbench}/$work.sql" >"$WORK/pgbench.out" 2>"$WORK/pgbench.err"; } 2>"$WORK/times" \
        || die "pgbench failed: $(tail -n 3 "$WORK/pgbench.err")"
    after=$(postgres_time)
    output=$(<"$WORK/pgbench.out")
    times=$(tail -n 1 "$WORK/times")
    client=$(awk '{ printf "%d", ($1 + $2) * 1000000 }' <<<"$times")
    transactions=$(sed -n 's/^number of transactions actually processed: \([0-9]*\).*/\1/p' <<<"$output")
    rate=$(sed -n 's/^tps = \([0-9.]*\).*/\1/p' <<<"$output")
    grep --quiet '^number of failed transactions: 0 ' <<<"$output" || die "pgbench had failed transactions: $output"
    ((transactions > 0)) || die "pgbench did nothing: $output"
    record "$name.pgbench.rate" "$rate"
    record "$name.pgbench.database" "$(divide "$((after - before))" "$transactions")"
    record "$name.pgbench.client" "$(divide "$client" "$transactions")"
}

# The bare tables beside those of the service, with the same rows.
make_plain_tables() { sql <"$HERE/pgbench/plain/table.sql"; }

# measure_plain WORK: records plain.WORK.pgbench.{rate,database,client}, of the plainest statement for the same.
measure_plain() {
    case $1 in
        save | batch) sql 'TRUNCATE plain.entry; CHECKPOINT' ;;
    esac
    RECORDED=plain.$1 PGBENCH=$HERE/pgbench/plain measure_pgbench "$1"
}

# run_wrk WORK TYPE ROWS SECONDS [check]: prints requests, microseconds, p50, p99 and the mean bytes of a response; dies
# of any wrong response.
run_wrk() {
    local work=$1 type=$2 rows=$3 seconds=$4 check=${5:-} line requests microseconds wrong p50 p99 bytes
    wrk --threads 2 --connections "$CONNECTIONS" --duration "${seconds}s" --timeout 10s --script "$HERE/calls.lua" \
        "${SCHEME:-http}://127.0.0.1:$PORT/" -- "$work" "$type" "$rows" "$API_KEY" "$TOKEN" "$check" "$HERE/${REQUESTS:-skyrow}.lua" >"$WORK/wrk.out" 2>&1 \
        || die "wrk failed: $(tail -n 3 "$WORK/wrk.out")"
    line=$(sed -n 's/^MEASURED //p' "$WORK/wrk.out")
    [[ -n $line ]] || die "wrk gave no result: $(tail -n 5 "$WORK/wrk.out")"
    read -r requests microseconds wrong p50 p99 bytes <<<"$line"
    ((wrong == 0)) || die "$wrong of $requests responses to $work were wrong; the first: $(sed -n 's/^WRONG //p' "$WORK/wrk.out" | head -n 1)"
    ((requests > 0)) || die "wrk had no responses."
    printf '%s %s %s %s %s\n' "$requests" "$microseconds" "$p50" "$p99" "$bytes"
}

# Waits until no statement runs that a client has left behind.
settle() {
    local tries
    for ((tries = 0; tries < 100; tries++)); do
        [[ $(sql "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND pid <> pg_backend_pid() AND backend_type = 'client backend'") == 0 ]] && return
        sleep 0.1
    done
    die "PostgreSQL is still at work ten seconds after the last request."
}

# measure_wrk WORK SERIES TYPE ROWS: records SERIES.{rate,server,database,time,p50,p99}; dies of any wrong response.
#
# For a second every response is checked; the responses of the measured run, in which wrk does not look into them, must
# have the same mean size, so an error or a short response among them cannot pass unseen. Up to 2 %, that is, and as much
# as the end of both runs cuts off: wrk counts the bytes of a response that has begun to arrive on each connection.
measure_wrk() {
    local work=$1 name=$2 type=$3 rows=$4 server_before database_before server_after database_after
    local checked measured requests microseconds p50 p99 bytes expected checks
    checked=$(run_wrk "$work" "$type" "$rows" 1 check)
    read -r checks _ _ _ expected <<<"$checked"
    settle
    server_before=$(process_time "$SERVICE")
    database_before=$(postgres_time)
    measured=$(run_wrk "$work" "$type" "$rows" "$DURATION")
    database_after=$(postgres_time)
    server_after=$(process_time "$SERVICE")
    read -r requests microseconds p50 p99 bytes <<<"$measured"
    awk -v bytes="$bytes" -v expected="$expected" -v n="$CONNECTIONS" -v a="$checks" -v b="$requests" 'BEGIN {
        part = bytes / expected - 1
        exit (part < 0 ? -part : part) > 0.02 + n / a + n / b }' \
        || die "Answers to $work had $bytes bytes in the mean, those that were checked $expected."
    record "$name.rate" "$(divide "$((requests * 1000))" "$((microseconds / 1000))")"
    record "$name.server" "$(divide "$((server_after - server_before))" "$requests")"
    record "$name.database" "$(divide "$((database_after - database_before))" "$requests")"
    record "$name.time" "$(divide "$((server_after - server_before + database_after - database_before))" "$requests")"
    record "$name.p50" "$(divide "$p50" 1000)"
    record "$name.p99" "$(divide "$p99" 1000)"
}
