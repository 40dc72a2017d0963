# shellcheck shell=bash
# What the programs of this folder share; each of them sets HERE and sources this file.

# Numbers have a decimal point.
export LC_ALL=C.UTF-8
ROOT=$(dirname "$HERE")
PROGRAM=Benchmarks/$(basename "$0")
# shellcheck source=cluster.sh
source "$HERE/cluster.sh"
# shellcheck source=service.sh
source "$HERE/service.sh"
# shellcheck source=sides.sh
source "$HERE/sides.sh"
# shellcheck source=measure.sh
source "$HERE/measure.sh"
# shellcheck source=data.sh
source "$HERE/data.sh"
# shellcheck source=statements.sh
source "$HERE/statements.sh"
# shellcheck source=figures.sh
source "$HERE/figures.sh"

# The defaults of every program.
WORKS='fetch query save batch'
ROWS=100000
CONNECTIONS=32
# Below those that the system gives to clients: one that asks whether something listens there would get it for itself.
FIRST_PORT=28123
BINARY=
GIVEN_BINARY=
COMMIT=

COMMON_OPTIONS='
  --rounds N           rounds of each measurement
  --duration SECONDS   length of each measurement
  --rows N             records that fetch and query choose among (100000)
  --port N             the first port that is used (28123)'

# Takes an option that several programs have, which is two words; fails of any other.
common_option() {
    case $1 in
        --rounds) ROUNDS=${2:?} ;;
        --duration) DURATION=${2:?} ;;
        --rows) ROWS=${2:?} ;;
        --port) FIRST_PORT=${2:?} ;;
        --binary) BINARY=${2:?} GIVEN_BINARY=1 ;;
        --commit) COMMIT=${2:?} ;;
        *) return 1 ;;
    esac
}

note() { printf '%s  %s\n' "$(date +%H:%M:%S)" "$*" >&2; }

die() {
    printf '%s: %s\n' "$PROGRAM" "$*" >&2
    exit 1
}

usage_error() {
    usage >&2
    exit 64
}

need_programs() {
    local program
    for program in wrk curl awk "$@"; do
        command -v "$program" >/dev/null || die "$program is missing: run scripts/setup benchmark."
    done
}

# A folder for the cluster and the logs, which is removed at the end unless something failed; sets WORK.
make_work_folder() {
    LOAD_BEFORE=$(cut -d ' ' -f 1 /proc/loadavg)
    WORK=$(mktemp --directory "${TMPDIR:-/tmp}/skyrow-bench.XXXXXX")
    chmod 755 "$WORK"
    FAILED=yes
    trap clean_up EXIT
}

# A program that has done its work says so, since its exit status can be a verdict.
finish() { FAILED=; }

clean_up() {
    stop_sides
    stop_service
    stop_cluster
    if [[ -z $FAILED ]]; then rm -rf "$WORK"; else note "The logs are in $WORK"; fi
}
