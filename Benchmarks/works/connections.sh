# shellcheck shell=bash
# Many connections that are all busy, beside as many as elsewhere.

connections_heading() { echo 'Many busy connections'; }

connections_measure() {
    local round work few=$CONNECTIONS
    use plain
    for ((round = 1; round <= ROUNDS; round++)); do
        note "Busy connections, round $round of $ROUNDS"
        for work in fetch query save; do
            measure_side "$work" "connections.$work.few"
            CONNECTIONS=$BUSY measure_side "$work" "connections.$work.many"
        done
    done
    record connections.rss "$(memory "$SERVICE" Rss)"
}

connections_report() {
    local work
    cat <<EOT
| $(grouped "$BUSY") connections beside $CONNECTIONS | $CONNECTIONS: /s | $(grouped "$BUSY"): /s | ratio | spread | $CONNECTIONS: p50, p99 ms | $(grouped "$BUSY"): p50, p99 ms | $CONNECTIONS: µs | $(grouped "$BUSY"): µs |
|---|---|---|---|---|---|---|---|---|
EOT
    for work in fetch query save; do
        ratios "connections.$work.many.rate" "connections.$work.few.rate" "connections.$work.ratio"
        printf '| %s | %s | %s | %s | %s | %s, %s | %s, %s | %s | %s |\n' "$(work_names "$work")" \
            "$(median "connections.$work.few.rate" %.0f)" "$(median "connections.$work.many.rate" %.0f)" \
            "$(median "connections.$work.ratio" %.2f)" "$(spread "connections.$work.ratio" %.2f)" \
            "$(median "connections.$work.few.p50" %.2f)" "$(median "connections.$work.few.p99" %.2f)" \
            "$(median "connections.$work.many.p50" %.2f)" "$(median "connections.$work.many.p99" %.2f)" \
            "$(median "connections.$work.few.time" %.0f)" "$(median "connections.$work.many.time" %.0f)"
    done
    cat <<EOT

The service had $(median connections.rss %.1f) MB of resident memory afterwards. With $(grouped "$BUSY") connections that never pause a
response waits for those before it: at the rate of the table, $(grouped "$BUSY") requests take $(awk -v n="$BUSY" \
    -v rate="$(median connections.fetch.many.rate %.6f)" 'BEGIN { printf "%.0f", n * 1000 / rate }') ms of fetches.
EOT
}
