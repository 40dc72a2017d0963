# shellcheck shell=bash
# The tables of `run`.

report() {
    local work
    cat <<EOT
# Results

Written by \`Benchmarks/run\`, the sections by \`Benchmarks/extra\`, each with the conditions that it was measured under;
[README.md](README.md) says what is measured and how to repeat it.

$(machine)

Medians; the spread is that of the rounds. "Of plain" divides the service's requests per second by the transactions per second of
\`pgbench -M prepared -c $CONNECTIONS -j 2\` with the plainest statement that a person would write
([pgbench/plain](pgbench/plain)), in the same round; "of its own" with the statement that the service sends. Processor time is per
request, in µs.

| | plain /s | its own statement /s | service /s | of plain | spread | of its own | spread | p50 ms | p99 ms | service µs | PostgreSQL µs | pgbench + PostgreSQL µs |
|---|---|---|---|---|---|---|---|---|---|---|---|---|
EOT
    for work in $WORKS; do
        ratios "$work.service.rate" "$work.pgbench.rate" "$work.ratio"
        ratios "$work.service.rate" "plain.$work.pgbench.rate" "$work.plain-ratio"
        printf '| %s | %s | %s | %s | **%s** | %s | %s | %s | %s | %s | %s | %s | %s + %s |\n' "$(work_names "$work")" \
            "$(median "plain.$work.pgbench.rate" %.0f)" "$(median "$work.pgbench.rate" %.0f)" \
            "$(median "$work.service.rate" %.0f)" "$(median "$work.plain-ratio" %.2f)" "$(spread "$work.plain-ratio" %.2f)" \
            "$(median "$work.ratio" %.2f)" "$(spread "$work.ratio" %.2f)" \
            "$(median "$work.service.p50" %.2f)" "$(median "$work.service.p99" %.2f)" \
            "$(median "$work.service.server" %.0f)" "$(median "$work.service.database" %.0f)" \
            "$(median "$work.pgbench.client" %.0f)" "$(median "$work.pgbench.database" %.0f)"
    done
    cat <<EOT

| Memory of the service | resident MB | proportional MB |
|---|---|---|
| idle, after the first response | $(median idle.rss %.1f) | $(median idle.pss %.1f) |
| after the load above | $(median loaded.rss %.1f) | $(median loaded.pss %.1f) |

| Start to first response, existing database | median ms | spread |
|---|---|---|
| PostgreSQL running | $(median start.ms %.0f) | $(spread start.ms %.0f) |
| PostgreSQL started by the service | $(median start.embedded.ms %.0f) | $(spread start.embedded.ms %.0f) |
EOT
    echo
    print_access
    ratios failures.during.rate failures.before.rate failures.during.ratio
    ratios failures.after.rate failures.before.rate failures.after.ratio
    cat <<EOT

| \`record:save\` of a record with a reference | requests /s | of the first | spread |
|---|---|---|---|
| all of them succeed | $(median failures.before.rate %.0f) | | |
| every twelfth names a missing record | $(median failures.during.rate %.0f) | $(median failures.during.ratio %.2f) | $(spread failures.during.ratio %.2f) |
| all of them succeed again | $(median failures.after.rate %.0f) | $(median failures.after.ratio %.2f) | $(spread failures.after.ratio %.2f) |
EOT
    if [[ -n $GROWTH ]]; then
        echo
        print_growth
    fi
}
