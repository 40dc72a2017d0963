# The first stack, used, stopped, killed and made anew; a part of docker/try.

step "docker/compose.yaml"
project=skyrow-try stack=$here/compose.yaml url=http://127.0.0.1:$SKYROW_PORT
take_down
database=${project}_database_1 service=${project}_skyrow_1 superuser=skyrow
compose up --detach --no-build >"$work/up.log" 2>&1 || { tail "$work/up.log" >&2; fail "up failed"; }
await "health of PostgreSQL" healthy $database
await "health of the service" healthy $service
key=$(podman exec $service cat /run/keys/master-key)

expect "user of the service" "$(podman exec $service id --user)" 10001
expect "process 1" "$(podman top $service pid user args | awk '$1 == 1 {print $2, $3, $4}')" \
    "skyrow /usr/bin/skyrow serve"
! podman exec $service touch /usr/bin/x 2>/dev/null || fail "the file system of the service can be written"
echo "ok: the file system is read-only"
process=$(podman inspect --format '{{.State.Pid}}' $service)
expect "capabilities" "$(awk '/^CapEff/ {print $2}' /proc/"$process"/status)" 0000000000000000
expect "new privileges are barred" "$(awk '/^NoNewPrivs/ {print $2}' /proc/"$process"/status)" 1
awk '/^VmRSS/ {print "memory of the service: " $2 " KiB"}' /proc/"$process"/status
podman logs $service 2>/dev/null | grep -q "$key" && fail "the master key is in the log"
podman inspect $service $database | grep -q "$key" && fail "the master key is in the container's description"
echo "ok: no key in log and description"
podman logs $service 2>&1 >/dev/null | tail -n 1 | jq --exit-status .level >/dev/null || fail "the log is no JSON"
echo "ok: log lines are JSON"

saved "$key" first || fail "the first record was not saved: $(save "$key" first)"
expect "the record, read by psql" "$(sql "SELECT content FROM app.note WHERE _id = 'first'")" Hello
sql "INSERT INTO app.note (_id, content) VALUES ('second', 'From psql')" >/dev/null
expect "the row of psql, read as a record" "$(content "$key" second)" "From psql"
expect "PostGIS" "$(sql "SELECT extname FROM pg_extension WHERE extname = 'postgis'")" postgis

step "Live queries"
podman exec $service skyrow doctor --check changes || fail "the doctor finds fault with the source of changes"
expect "a change, live" "$(live_change "$key" live)" created
sql "DELETE FROM app.note WHERE _id = 'live'" >/dev/null

step "Backup and restore"
podman exec $service skyrow backup /var/lib/skyrow/backup.tar
expect "notes, by skyrow psql" "$(podman exec $service skyrow psql -A -t -c 'SELECT count(*) FROM note')" 2
sql "DELETE FROM app.note" >/dev/null
podman stop --time 40 $service >/dev/null
podman run --rm --network ${project}_default --volume ${project}_keys:/run/keys:ro \
    --volume ${project}_data:/var/lib/skyrow --env SKYROW_DATABASE_URL_FILE=/run/keys/database-url $SERVICE_IMAGE \
    restore /var/lib/skyrow/backup.tar --replace --trust-archive
expect "notes, restored" "$(sql "SELECT count(*) FROM app.note")" 2
podman start $service >/dev/null
await "health of the service" healthy $service

step "Stop and start"
podman stop --time 40 $service >/dev/null
expect "exit code after SIGTERM" "$(podman inspect --format '{{.State.ExitCode}}' $service)" 0
podman stop --time 60 $database >/dev/null
expect "exit code of PostgreSQL" "$(podman inspect --format '{{.State.ExitCode}}' $database)" 0
compose start >/dev/null 2>&1
await "health of the service" healthy $service
expect "the record, after the restart" "$(content "$key" first)" Hello

step "Killed while it saves"
: >"$work/acknowledged"
(for number in $(seq 1 100000); do
    if saved "$key" "n$number" --max-time 5; then echo "n$number" >>"$work/acknowledged"; else break; fi
done) &
writer=$!
# Some records first; what they are worth is seen when both are killed in the middle of the next.
await "100 saves" sh -c "[ \$(wc -l <'$work/acknowledged') -ge 100 ]"
podman kill --signal KILL $database $service >/dev/null
wait $writer || true
count=$(wc -l <"$work/acknowledged")
podman start $database $service >/dev/null
await "health of the service" healthy $service
sql "SELECT _id FROM app.note" >"$work/found"
missing=$(grep --count --invert-match --line-regexp --fixed-strings --file "$work/found" "$work/acknowledged" || true)
expect "acknowledged saves that are missing, of $count" "$missing" 0

step "Removed and made anew, on the same volumes"
podman rm --force --time 40 $service $database >/dev/null
compose up --detach --no-build >"$work/up.log" 2>&1
await "health of the service" healthy $service
[ "$(podman exec $service cat /run/keys/master-key)" = "$key" ] || fail "the master key is another one"
echo "ok: the master key is the same"
expect "the record" "$(content "$key" first)" Hello

step "Without its database"
podman stop --time 60 $database >/dev/null
! healthy $service >/dev/null 2>&1 || fail "the service says that it is healthy without a database"
echo "ok: unhealthy"
podman start $database >/dev/null
await "health of the service" healthy $service
take_down
