# shellcheck shell=bash
# Anonymous accounts whose records move to the user's, half of them private, half public; beside statements by hand that change
# as many rows in one transaction.

merge_heading() { echo 'Merging accounts'; }

# merge_fill OWNER PREFIX: records of an account.
merge_fill() {
    sql <<SQL >/dev/null
INSERT INTO app.entry (_id, _database, _owner, _created_by, _updated_by, title, grp, score, done, due)
SELECT CASE WHEN i % 2 = 0 THEN '~$1/' ELSE '' END || '$2-' || i, CASE WHEN i % 2 = 0 THEN '$1' ELSE '_public' END, '$1', '$1', '$1',
       'Item ' || md5(i::text), 1 + i % 1000, i / 7.0, i % 2 = 0, timestamptz '2026-01-01' + i * interval '1 minute'
FROM generate_series(1, $MERGED) AS i;
VACUUM (ANALYZE) app.entry;
CHECKPOINT;
SQL
}

# merge_timed NAME COMMAND...: records NAME.{seconds,time}.
merge_timed() {
    local name=$1 began ended server database
    shift
    settle
    server=$(process_time "$SERVICE")
    database=$(postgres_time)
    began=${EPOCHREALTIME/[.,]/}
    "$@"
    ended=${EPOCHREALTIME/[.,]/}
    settle
    record "$name.time" "$(divide "$(($(process_time "$SERVICE") - server + $(postgres_time) - database))" "$MERGED")"
    record "$name.rate" "$(divide "$((MERGED * 1000))" "$(((ended - began) / 1000))")"
}

# merge_account TOKEN: calls until everything has moved.
merge_account() {
    local response
    until response=$(call "$API_KEY" auth:merge "{\"token\":\"$1\"}") && [[ $response == *'"finished":true'* ]]; do
        [[ $response == *'"finished":false'* ]] || die "The merge gave: $response"
    done
    [[ $response == *"\"records\":$MERGED"[,}]* ]] || die "The merge gave: $response"
}

# merge_by_hand FROM
merge_by_hand() {
    sql <<SQL >/dev/null
BEGIN;
SET CONSTRAINTS ALL DEFERRED;
UPDATE app.entry SET _owner = '$USER_ID', _created_by = '$USER_ID', _updated_by = '$USER_ID', _revision = app._revision()
WHERE _owner = '$1' AND _database = '_public';
UPDATE app.entry SET _id = '~$USER_ID/' || substr(_id, length('$1') + 3), _database = '$USER_ID', _owner = '$USER_ID',
    _created_by = '$USER_ID', _updated_by = '$USER_ID', _revision = app._revision()
WHERE _database = '$1';
COMMIT;
SQL
}

merge_measure() {
    local round side signup guest
    for ((round = 1; round <= ROUNDS; round++)); do
        note "Merging accounts, round $round of $ROUNDS"
        for side in $(in_turns "$round" service hand); do
            empty_entries
            if [[ $side == service ]]; then
                signup=$(TOKEN='' call "$API_KEY" auth:signup '{}')
                guest=$(member user_id <<<"$signup")
                merge_fill "$guest" service
                merge_timed merge.service merge_account "$(member access_token <<<"$signup")"
            else
                merge_fill "hand$round" hand
                merge_timed merge.hand merge_by_hand "hand$round"
            fi
            [[ $(sql "SELECT count(*) FROM app.entry WHERE _owner = '$USER_ID' AND _database IN ('_public', '$USER_ID')") == "$MERGED" ]] \
                || die "Not all of $MERGED records have moved."
        done
    done
    empty_entries
}

merge_report() {
    ratios merge.service.rate merge.hand.rate merge.rate-ratio
    ratios merge.service.time merge.hand.time merge.time-ratio
    cat <<EOT
| $(grouped "$MERGED") records of an anonymous account | records /s | of SQL by hand | spread | processor time a record, µs | of SQL by hand |
|---|---|---|---|---|---|
| \`auth:merge\` | $(median merge.service.rate %.0f) | $(median merge.rate-ratio %.2f) | $(spread merge.rate-ratio %.2f) | $(median merge.service.time %.0f) | $(median merge.time-ratio %.2f) |
| two \`UPDATE\`s in one transaction | $(median merge.hand.rate %.0f) | | | $(median merge.hand.time %.0f) | |

By hand nothing follows references or looks for ids that are taken, no account is deleted, and the rows are locked until all have moved.
EOT
}
