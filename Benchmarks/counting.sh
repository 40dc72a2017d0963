# shellcheck shell=bash
# Instructions of a request, counted by valgrind: those of the service, without the kernel's.

# valgrind runs one thread at a time; with many connections the counts depend on how many saves share a commit.
COUNTING_CONNECTIONS=2
COUNTING_SECONDS=15

# dump_counts N: has valgrind write, as the N-th file of the present side, what it has counted since the one before.
dump_counts() {
    local file=$WORK/$SIDE.counts.$1 patience=600
    callgrind_control --dump "$SERVICE" >"$WORK/callgrind.out" 2>&1 || die "valgrind does not respond: $(<"$WORK/callgrind.out")"
    until grep --quiet '^totals:' "$file" 2>/dev/null; do
        ((patience-- > 0)) || die "valgrind did not write $file within a minute."
        sleep 0.1
    done
}

# count_work WORK: records WORK.SIDE.instructions
count_work() {
    local work=$1 measured instructions type=item
    case $work in save | batch) type=entry ;; esac
    # What is made at first use is made.
    run_wrk "$work" "$type" "$ROWS" 8 check >/dev/null
    dump_counts $((dumps += 1))
    measured=$(run_wrk "$work" "$type" "$ROWS" "$DURATION")
    dump_counts $((dumps += 1))
    instructions=$(awk '/^totals:/ { print $2 }' "$WORK/$SIDE.counts.$dumps")
    record "$work.$SIDE.instructions" "$(divide "$instructions" "${measured%% *}")"
}

# count_side SIDE EXECUTABLE: counts each of the works in a service with a new database.
count_side() {
    local side=$1 work dumps=0
    # valgrind does not understand all debug information.
    strip --strip-all -o "$WORK/$side" "$2"
    add_side "$side" "$WORK/$side" "side_$side"
    make_database "$PGDATABASE"
    note "Counting instructions in the $side executable"
    RUNNER=(valgrind --tool=callgrind --callgrind-out-file="$WORK/$side.counts")
    start_side
    sign_up
    describe_types
    fill item "$ROWS"
    for work in $WORKS; do count_work "$work"; done
    stop_side
    RUNNER=()
}
