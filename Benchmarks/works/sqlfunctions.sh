# shellcheck shell=bash
# A SQL function that returns 20 records, called by function:call, beside pgbench with the SELECT of its body under the same
# conditions of access.

sqlfunctions_heading() { echo 'A SQL function'; }

sqlfunctions_measure() {
    local round side
    use plain
    sql <<'SQL'
CREATE OR REPLACE FUNCTION app.of_group(wanted bigint) RETURNS SETOF app.item LANGUAGE sql STABLE AS $$
    SELECT * FROM app.item WHERE grp = wanted ORDER BY title, _id LIMIT 20
$$;
SELECT app._expose('of_group(bigint)', 'user');
SQL
    for ((round = 1; round <= ROUNDS; round++)); do
        note "A SQL function, round $round of $ROUNDS"
        for side in $(in_turns "$round" pgbench query function); do
            case $side in
                pgbench) measure_pgbench sqlfunctions ;;
                query) measure_wrk query sqlfunctions.query item "$ROWS" ;;
                function) measure_wrk of_group sqlfunctions.call item "$ROWS" ;;
            esac
        done
    done
}

sqlfunctions_report() {
    ratios sqlfunctions.call.rate sqlfunctions.pgbench.rate sqlfunctions.pgbench-ratio
    ratios sqlfunctions.call.rate sqlfunctions.query.rate sqlfunctions.query-ratio
    cat <<EOT
| 20 records of a group | requests /s | of pgbench | spread | of the query | service + PostgreSQL µs | p50, p99 ms |
|---|---|---|---|---|---|---|
| \`pgbench\`, the SELECT of the function | $(median sqlfunctions.pgbench.rate %.0f) | | | | | |
| \`record:query\` | $(median sqlfunctions.query.rate %.0f) | | | | $(median sqlfunctions.query.time %.0f) | $(median sqlfunctions.query.p50 %.2f), $(median sqlfunctions.query.p99 %.2f) |
| \`function:call\` of the function | $(median sqlfunctions.call.rate %.0f) | **$(median sqlfunctions.pgbench-ratio %.2f)** | $(spread sqlfunctions.pgbench-ratio %.2f) | $(median sqlfunctions.query-ratio %.2f) | $(median sqlfunctions.call.time %.0f) | $(median sqlfunctions.call.p50 %.2f), $(median sqlfunctions.call.p99 %.2f) |
EOT
}
