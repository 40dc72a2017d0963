# shellcheck shell=bash
# Figures of several rounds: medians, and how far the rounds lay apart; and what they were measured on.

# median NAME FORMAT
median() {
    local values
    values=$(series "$1" | tr ' ' '\n' | sort -g)
    awk -v format="$2" 'NF { v[++n] = $1 } END {
        if (n == 0) { print "–"; exit }
        printf format "\n", n % 2 ? v[(n + 1) / 2] : (v[n / 2] + v[n / 2 + 1]) / 2 }' <<<"$values"
}

# spread NAME FORMAT: smallest to largest
spread() {
    series "$1" | tr ' ' '\n' | sort -g | awk -v format="$2" '
        NR == 1 { low = $1 } { high = $1 } END { printf format " to " format "\n", low, high }'
}

# ratios OF TO NAME: records the ratio of two series, round by round.
ratios() {
    local of to i
    read -ra of <<<"$(series "$1")"
    read -ra to <<<"$(series "$2")"
    for i in "${!of[@]}"; do record "$3" "$(divide "${of[i]}" "${to[i]}")"; done
}

# differences OF FROM NAME: records one series less another, round by round.
differences() {
    local of from i
    read -ra of <<<"$(series "$1")"
    read -ra from <<<"$(series "$2")"
    for i in "${!of[@]}"; do record "$3" "$(awk -v a="${of[i]}" -v b="${from[i]}" 'BEGIN { printf "%.6f", a - b }')"; done
}

measured_commit() {
    if [[ -n $COMMIT ]]; then
        echo "Skyrow at $COMMIT"
        return
    fi
    echo "Skyrow at $(git -C "$ROOT" rev-parse --short HEAD 2>/dev/null || echo 'no commit')$(git -C "$ROOT" diff --quiet HEAD 2>/dev/null || echo ' with changes')${GIVEN_BINARY:+, an executable given with \`--binary\`}"
}

machine() {
    local model
    model=$(sed -n 's/^model name[[:space:]]*: //p' /proc/cpuinfo | head -n 1)
    cat <<EOT
- $(getconf _NPROCESSORS_ONLN) cores (${model:-unknown processor}), $(awk '/^MemTotal/ { printf "%.0f", $2 / 1048576 }' /proc/meminfo) GB of memory, $(uname -s) $(uname -r), shared by the service, PostgreSQL and the load.
- $("$POSTGRES_BIN/postgres" --version | sed 's/^postgres (PostgreSQL) /PostgreSQL /'), stock configuration but for the cache: \`synchronous_commit\` $(sql 'SHOW synchronous_commit'), \`fsync\` $(sql 'SHOW fsync'), \`shared_buffers\` $(sql 'SHOW shared_buffers').
- $(measured_commit), $(date --utc +%Y-%m-%d).
- The service in development mode, its request log at \`${SKYROW_LOG_LEVEL:-info}\` into a file.
- $ROUNDS interleaved rounds of $DURATION s each, $CONNECTIONS connections, $ROWS rows; the load average before the run was $LOAD_BEFORE.
EOT
}

work_names() {
    case $1 in
        fetch) echo '`record:fetch` of one id' ;;
        query) echo '`record:query`, 20 rows' ;;
        save) echo '`record:save`, one new record' ;;
        batch) echo '`record:save`, 100 new records' ;;
    esac
}

BUSY_MACHINE='The machine was busy with other programs: rates and latencies are worse than on a quiet one, and ratios are what to read.'

# Whether others took more than half of the machine before the run.
was_busy() { awk -v load="$LOAD_BEFORE" -v cores="$(getconf _NPROCESSORS_ONLN)" 'BEGIN { exit load * 2 <= cores }'; }

# The conditions of one section, in a sentence.
conditions() {
    printf '%s, %s; %s rounds of %s s in turns, %s connections, %s rows; the load average before was %s.%s\n\n' \
        "$(measured_commit)" "$(date --utc +%Y-%m-%d)" "$ROUNDS" "$DURATION" "$CONNECTIONS" "$ROWS" "$LOAD_BEFORE" \
        "$(if was_busy; then printf '\n%s' "$BUSY_MACHINE"; fi)"
}

# put_section HEADING BODY FILE: replaces the section of FILE with that heading, or what stands before all sections when
# the heading is empty, by the text of the file BODY. Everything else of FILE stays.
put_section() {
    touch "$3"
    awk -v heading="$1" -v body="$2" -f "$HERE/section.awk" "$3" >"$WORK/sections.md"
    cp "$WORK/sections.md" "$3"
}

# grouped NUMBER: with a comma between thousands.
grouped() { sed -E -e ':again' -e 's/^([0-9]+)([0-9]{3})/\1,\2/' -e 't again' <<<"$1"; }

# print_sides PREFIX WORKS SIDE LABEL...: a table of sides, the first of which the others are compared with.
print_sides() {
    local prefix=$1 works=$2 first=$3 work side name i sides=("${@:3}")
    cat <<EOT
| | | requests /s | of the first | spread | p50, p99 ms | service + PostgreSQL µs | of the first | spread |
|---|---|---|---|---|---|---|---|---|
EOT
    for work in $works; do
        for ((i = 0; i < ${#sides[@]}; i += 2)); do
            side=${sides[i]}
            name=$prefix.$work.$side
            ratios "$name.rate" "$prefix.$work.$first.rate" "$name.rate-ratio"
            ratios "$name.time" "$prefix.$work.$first.time" "$name.time-ratio"
            printf '| %s | %s | %s | %s | %s | %s, %s | %s | %s | %s |\n' "$(work_names "$work")" "${sides[i + 1]}" \
                "$(median "$name.rate" %.0f)" "$([[ $side == "$first" ]] || median "$name.rate-ratio" %.2f)" \
                "$([[ $side == "$first" ]] || spread "$name.rate-ratio" %.2f)" \
                "$(median "$name.p50" %.2f)" "$(median "$name.p99" %.2f)" "$(median "$name.time" %.0f)" \
                "$([[ $side == "$first" ]] || median "$name.time-ratio" %.2f)" \
                "$([[ $side == "$first" ]] || spread "$name.time-ratio" %.2f)"
        done
    done
}
