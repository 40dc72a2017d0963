# The package under a systemd that runs in a container; a part of docker/try.

step "The package, under systemd"
if ! has_image localhost/systemd-try; then
    build --tag localhost/systemd-try --file - $here/trial <<'END'
FROM docker.io/library/debian:bookworm-slim
RUN apt-get update && apt-get install --yes --no-install-recommends postgresql-common \
    && sed -i 's/^#* *create_main_cluster *=.*/create_main_cluster = false/' /etc/postgresql-common/createcluster.conf \
    && apt-get install --yes --no-install-recommends postgresql-15 curl jq libcurl4 libpq5 libsodium23 libssl3 libstdc++6 man-db procps systemd-sysv
STOPSIGNAL SIGRTMIN+3
CMD ["/lib/systemd/systemd"]
END
fi
# Units have mount namespaces of their own, which a container may make only when it is privileged.
podman run --detach --privileged --systemd always --name $host localhost/systemd-try >/dev/null
inside() { podman exec $host "$@"; }
# As on a machine of its own; credentials are mounted for units from elsewhere.
inside mount --make-rshared /
if [ -z "$binary" ]; then
    # The package that the image was built from is in the stage that built it.
    build --target build --tag localhost/skyrow-built --file $here/Dockerfile "${volumes[@]}" .
    mkdir -p "$work/package"
    podman run --rm localhost/skyrow-built sh -c 'cat .build/package/skyrow_*.deb' >"$work/package/skyrow_built.deb"
fi
podman cp "$(echo "$work/package"/skyrow_*.deb)" $host:/skyrow.deb
answers() { inside curl --silent --fail --output /dev/null http://127.0.0.1:3000/readyz; }
ask() {  # method, parameters
    inside curl --silent http://127.0.0.1:3000/rpc --header "X-Skygear-API-Key: $key" \
        --header 'Content-Type: application/json' \
        --data "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"$1\",\"params\":$2}"
}
main_process() { inside systemctl show --property MainPID --value skyrow; }
psql_inside() {
    inside runuser --user skyrow -- skyrow psql --data-directory /var/lib/skyrow --quiet -A -t -c "$1"
}
journal() { inside journalctl --unit skyrow --no-pager --output cat; }
await "systemd" inside systemctl list-units
inside env DEBIAN_FRONTEND=noninteractive dpkg --install /skyrow.deb
expect "the unit is enabled" "$(inside systemctl is-enabled skyrow)" enabled
inside systemd-analyze verify skyrow.service 2>&1 | grep 'skyrow.service' | grep --invert-match "Command 'man" &&
    fail "systemd-analyze has something to say"
inside systemd-analyze security --no-pager skyrow.service | tail -n 1
await "an answer of the unit" answers
key=$(inside sh -c '. /var/lib/skyrow/keys && echo $SKYROW_MASTER_KEY')
ask schema:create "$note_type" | jq --exit-status .result >/dev/null || fail "no type could be made"
ask record:save '{"records":[{"_id":"note/first","content":"Hello"}]}' >/dev/null
expect "the record, read by psql" "$(psql_inside "SELECT content FROM note WHERE _id = 'first'")" Hello
[ "$(journal | grep --count "$key" || true)" = 0 ] || fail "the master key is in the journal"
echo "ok: no key in the journal"
expect "scheduling of the threads" "$(inside sh -c "for task in /proc/$(main_process)/task/*; do chrt --pid \${task##*/}; done" |
    sed -n 's/.*scheduling policy: //p' | sort --unique)" SCHED_BATCH
process=$(main_process)
inside env DEBIAN_FRONTEND=noninteractive dpkg --install /skyrow.deb
await "an answer after an upgrade" answers
[ "$(main_process)" != "$process" ] || fail "an upgrade does not start the service again"
expect "the record, after the upgrade" "$(psql_inside "SELECT content FROM note WHERE _id = 'first'")" Hello
process=$(main_process)
inside dpkg-trigger --by-package=skyrow /usr/lib/postgresql
inside env DEBIAN_FRONTEND=noninteractive dpkg --configure --pending
await "an answer after an upgrade of PostgreSQL" answers
[ "$(main_process)" != "$process" ] || fail "an upgrade of PostgreSQL does not start the service again"
inside sh -c 'echo "{\"log-level\": \"debug\"}" >/etc/skyrow/skyrow.json'
inside systemctl reload skyrow
await "the new log level after a reload" sh -c "podman exec $host journalctl --unit skyrow --no-pager --output cat | grep 'settings were reloaded.*log-level'"
inside kill -KILL "$(main_process)"
await "an answer after SIGKILL" answers
expect "the record, after SIGKILL" "$(psql_inside "SELECT content FROM note WHERE _id = 'first'")" Hello
inside systemctl stop skyrow
expect "result of the stop" "$(inside systemctl show --property Result --value skyrow)" success
expect "processes that are left" "$(inside pgrep --count --uid skyrow || true)" 0
inside mkdir --parents /etc/systemd/system/skyrow.service.d
podman cp packaging/systemd/credentials.conf $host:/etc/systemd/system/skyrow.service.d/
inside sh -c 'umask 077; printf %s an-api-key-of-ours >/etc/skyrow/api-key; printf %s a-master-key-of-ours >/etc/skyrow/master-key'
inside systemctl daemon-reload
inside systemctl start skyrow
await "an answer with credentials" answers
key=a-master-key-of-ours
expect "the record, asked for with the credential" \
    "$(ask record:fetch '{"ids":["note/first"]}' | jq --raw-output '.result[0].content')" Hello
inside sh -c 'echo "{\"prot\": 1}" >/etc/skyrow/skyrow.json'
inside systemctl restart skyrow
await "the end of a start with a wrong setting" inside systemctl is-failed skyrow
expect "its status" "$(inside systemctl show --property ExecMainStatus --value skyrow)" 78
inside sh -c 'echo "{}" >/etc/skyrow/skyrow.json'
inside systemctl restart skyrow
await "an answer with the right settings" answers
inside env DEBIAN_FRONTEND=noninteractive dpkg --purge skyrow
expect "the unit after a purge" "$(inside systemctl show --property LoadState --value skyrow)" not-found
expect "processes that are left" "$(inside pgrep --count --uid skyrow || true)" 0
inside test -e /var/lib/skyrow/postgres/PG_VERSION || fail "a purge that was not allowed to has removed the data"
