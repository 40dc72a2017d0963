# shellcheck shell=bash
# A table of 10,000 records beside a large one.

# measure_on SIZE WORK ROWS: a work on the table of that name, by pgbench and by the service.
measure_on() {
    local size=$1 work=$2 ROWS=$3 PGBENCH=$WORK
    sed "s/\"app\"\.\"item\"/\"app\".\"$size\"/" "$HERE/pgbench/$work.sql" >"$WORK/growth.$work.$size.sql"
    measure_pgbench "growth.$work.$size"
    measure_wrk "$work" "growth.$work.$size" "$size" "$ROWS"
}

measure_growth() {
    local round work
    fill small 10000
    fill large "$GROWTH"
    sql CHECKPOINT
    for ((round = 1; round <= ROUNDS; round++)); do
        note "Growth, round $round of $ROUNDS"
        for work in fetch query; do
            measure_on small "$work" 10000
            measure_on large "$work" "$GROWTH"
        done
    done
}

print_growth() {
    local work
    cat <<EOT
| Growth from 10,000 to $(grouped "$GROWTH") rows | 10,000 rows /s | $(grouped "$GROWTH") rows /s | slower by | pgbench slower by | of pgbench's | spread | service + PostgreSQL µs | p99 ms |
|---|---|---|---|---|---|---|---|---|
EOT
    for work in fetch query; do
        ratios "growth.$work.small.rate" "growth.$work.large.rate" "growth.$work.ratio"
        ratios "growth.$work.small.pgbench.rate" "growth.$work.large.pgbench.rate" "growth.$work.pgbench.ratio"
        ratios "growth.$work.ratio" "growth.$work.pgbench.ratio" "growth.$work.relative"
        printf '| %s | %s | %s | %s× | %s× | %s | %s | %s, %s | %s, %s |\n' "$(work_names "$work")" \
            "$(median "growth.$work.small.rate" %.0f)" "$(median "growth.$work.large.rate" %.0f)" \
            "$(median "growth.$work.ratio" %.2f)" "$(median "growth.$work.pgbench.ratio" %.2f)" \
            "$(median "growth.$work.relative" %.2f)" "$(spread "growth.$work.relative" %.2f)" \
            "$(median "growth.$work.small.time" %.0f)" "$(median "growth.$work.large.time" %.0f)" \
            "$(median "growth.$work.small.p99" %.2f)" "$(median "growth.$work.large.p99" %.2f)"
    done
}

# As a work of Benchmarks/extra.
growth_heading() { echo 'A large table'; }
growth_measure() {
    use plain
    measure_growth
    GROWTH_SIZE=$(sql "SELECT pg_size_pretty(pg_table_size('app.large')) || ' and ' || pg_size_pretty(pg_indexes_size('app.large'))")
    # The works after this one have the cache to themselves.
    sql "SET session_replication_role = replica; TRUNCATE app.small, app.large; CHECKPOINT"
}
growth_report() {
    print_growth
    echo
    echo "The large table takes ${GROWTH_SIZE/ and / and its indexes }; the cache is $(sql 'SHOW shared_buffers')."
}
