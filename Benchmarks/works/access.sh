# shellcheck shell=bash
# What fifty roles of a caller add to a request, and an access list to a save. `run` measures the former, too.

access_heading() { echo 'Access with 50 roles'; }

# A second user with fifty roles, and records whose lists name the last of them beside two others.
prepare_access() {
    local signup
    signup=$(call "$API_KEY" auth:signup '{"auth_data":{"username":"many"},"password":"benchmark-passphrase"}')
    MANY_TOKEN=$(member access_token <<<"$signup")
    sql <<SQL
INSERT INTO app_internal._role (name) SELECT 'role' || i FROM generate_series(1, 50) AS i;
INSERT INTO app_internal._user_role (user_id, role)
SELECT '$(member user_id <<<"$signup")', 'role' || i FROM generate_series(1, 50) AS i;
SQL
    fill listed "$ROWS" "'{\"role:staff\": \"read\", \"role:press\": \"read\", \"role:role50\": \"read\"}'"
}

# The same requests by the owner, who has no roles, and by the user with fifty.
measure_access() {
    local round work type side
    for ((round = 1; round <= ROUNDS; round++)); do
        note "Access with 50 roles, round $round of $ROUNDS"
        for work in fetch query; do
            for type in item listed; do
                for side in $(in_turns "$round" none many); do
                    if [[ $side == none ]]; then
                        measure_wrk "$work" "access.$work.$type.none" "$type" "$ROWS"
                    else
                        TOKEN=$MANY_TOKEN measure_wrk "$work" "access.$work.$type.many" "$type" "$ROWS"
                    fi
                done
            done
        done
    done
}

# What the fifty roles of a caller add to the processor time of a request.
access_row() {
    local work=$1 type=$2 name="access.$1.$2"
    ratios "$name.many.time" "$name.none.time" "$name.ratio"
    printf '| %s, %s | %s | %s | %s%% | %s |\n' "$(work_names "$work")" "$3" "$(median "$name.none.time" %.0f)" \
        "$(median "$name.many.time" %.0f)" "$(median "$name.ratio" %.6f | awk '{ printf "%+.0f", ($1 - 1) * 100 }')" \
        "$(spread "$name.ratio" %.2f)×"
}

print_access() {
    local work
    cat <<'EOT'
| Access with 50 roles, service + PostgreSQL | no roles µs | 50 roles µs | added | spread |
|---|---|---|---|---|
EOT
    for work in fetch query; do
        access_row "$work" item 'no list'
        access_row "$work" listed 'lists of 3 roles'
    done
}

access_measure() {
    local round side
    prepare_access
    measure_access
    for ((round = 1; round <= ROUNDS; round++)); do
        note "Saves with an access list, round $round of $ROUNDS"
        for side in $(in_turns "$round" save guarded); do
            empty_entries
            measure_wrk "$side" "access.$side" entry "$ROWS"
        done
    done
    empty_entries
}

access_report() {
    print_access
    ratios access.guarded.time access.save.time access.save.time-ratio
    ratios access.guarded.rate access.save.rate access.save.rate-ratio
    cat <<EOT

| \`record:save\` of one new record, service + PostgreSQL | µs | of the first | spread | requests /s, of the first |
|---|---|---|---|---|
| without a list | $(median access.save.time %.0f) | | | |
| with a list of three | $(median access.guarded.time %.0f) | $(median access.save.time-ratio %.2f) | $(spread access.save.time-ratio %.2f) | $(median access.save.rate-ratio %.2f) |
EOT
}
