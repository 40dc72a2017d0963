# shellcheck shell=bash
# The same requests with every trace written to a file, with one of a hundred, and with none.

tracing_heading() { echo 'Tracing'; }

tracing_measure() {
    local round work side
    add_side traced "$MEASURED" bench
    start_side --trace-file "$WORK/traced.json"
    add_side sampled "$MEASURED" bench
    start_side --trace-file "$WORK/sampled.json" --trace-ratio 0.01
    for ((round = 1; round <= ROUNDS; round++)); do
        note "Tracing, round $round of $ROUNDS"
        for work in fetch query save; do
            for side in $(in_turns "$round" plain traced sampled); do
                use "$side"
                measure_side "$work" "tracing.$work.$side"
            done
        done
    done
    [[ -s $WORK/traced.json && -s $WORK/sampled.json ]] || die "No traces were written."
    for side in traced sampled; do
        use "$side"
        stop_side
    done
    rm -f "$WORK"/traced.json* "$WORK"/sampled.json*
}

tracing_report() {
    print_sides tracing 'fetch query save' plain 'no tracing' traced 'every trace' sampled 'one of a hundred'
}
