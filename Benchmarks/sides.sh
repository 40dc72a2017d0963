# shellcheck shell=bash
# Several services in one run. Each is a side with a name: another executable, other settings, a database of its own or
# one that sides share.

declare -A SIDE_BINARY=() SIDE_PORT=() SIDE_SCHEME=() SIDE_DATABASE=() SIDE_SERVICE=()
# A user's token is valid for every service on the same database.
declare -A DATABASE_TOKEN=() DATABASE_USER=()

# add_side NAME BINARY DATABASE [https]: declares a side on the next port, and makes it the present one.
add_side() {
    SIDE_BINARY[$1]=$2
    SIDE_DATABASE[$1]=$3
    SIDE_SCHEME[$1]=${4:-http}
    SIDE_PORT[$1]=$((FIRST_PORT + ${#SIDE_PORT[@]}))
    use "$1"
}

# use NAME: what follows is about this side.
use() {
    SIDE=$1
    BINARY=${SIDE_BINARY[$SIDE]}
    PORT=${SIDE_PORT[$SIDE]}
    PGDATABASE=${SIDE_DATABASE[$SIDE]}
    SCHEME=${SIDE_SCHEME[$SIDE]}
    SERVICE=${SIDE_SERVICE[$SIDE]:-}
    TOKEN=${DATABASE_TOKEN[$PGDATABASE]:-}
    USER_ID=${DATABASE_USER[$PGDATABASE]:-}
}

# start_side [ARGUMENT...]: starts the service of the present side.
start_side() {
    start_service --database-url "postgresql://postgres@/$PGDATABASE?host=$CLUSTER" "$@"
    side_started
}

# The process SERVICE is that of the present side.
side_started() { SIDE_SERVICE[$SIDE]=$SERVICE; }

# set_user TOKEN ID: who calls the present side, and every other one on the same database.
set_user() {
    DATABASE_TOKEN[$PGDATABASE]=$1
    DATABASE_USER[$PGDATABASE]=$2
    use "$SIDE"
}

stop_side() {
    stop_service
    unset "SIDE_SERVICE[$SIDE]"
}

# Signs up the user of the present side's database.
sign_up() {
    local signup
    signup=$(call "$API_KEY" auth:signup '{"auth_data":{"username":"bench"},"password":"benchmark-passphrase"}')
    set_user "$(member access_token <<<"$signup")" "$(member user_id <<<"$signup")"
}

# make_database NAME
make_database() { PGDATABASE=postgres sql "CREATE DATABASE $1" >/dev/null; }

# measure_side WORK SERIES: one of the four works against the present side.
measure_side() {
    case $1 in
        fetch | query) measure_wrk "$1" "$2" item "$ROWS" ;;
        save | batch)
            empty_entries
            measure_wrk "$1" "$2" entry "$ROWS"
            ;;
        *) die "There is no work \"$1\"." ;;
    esac
}

# in_turns ROUND NAME...: prints the names, begun with another one in each round, so that none is always the first.
in_turns() {
    local round=$1 count=$(($# - 1)) i
    shift
    for ((i = 0; i < count; i++)); do
        printf '%s\n' "${@:$(((i + round) % count + 1)):1}"
    done
}

stop_sides() {
    local side
    for side in "${!SIDE_SERVICE[@]}"; do
        use "$side"
        stop_side
    done
}
