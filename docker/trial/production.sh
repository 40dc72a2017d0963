# Two processes behind a proxy with TLS; a part of docker/try.

step "docker/production/compose.yaml"
# A copy, so that the trial's keys and certificate are not among yours.
mkdir -p "$work/production/docker"
cp -r $here/production "$work/production/docker/"
rm -rf "$work/production/docker/production/secrets"
secrets=$work/production/docker/production/secrets
$here/make-keys "$secrets"
openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -addext subjectAltName=DNS:localhost \
    -keyout "$work/key.pem" -out "$work/certificate.pem" 2>/dev/null
cat "$work/certificate.pem" "$work/key.pem" >"$secrets/certificate"
chmod 444 "$secrets/certificate"
project=skyrow-production-try stack=$work/production/docker/production/compose.yaml
take_down
database=${project}_database_1 superuser=postgres url=https://localhost:$HTTPS_PORT
secure=(--cacert "$work/certificate.pem")
# podman-compose 1.0 makes networks without the subnet that the file gives them.
podman network create --internal --subnet "$SERVICE_NETWORK" --label "io.podman.compose.project=$project" \
    "${project}_service" >/dev/null
# The trial is a client of a private network, which the master key is not for.
export SKYROW_MASTER_KEY_NETWORKS=127.0.0.0/8,::1,10.0.0.0/8,172.16.0.0/12,192.168.0.0/16
compose up --detach --no-build >"$work/up.log" 2>&1 || { tail "$work/up.log" >&2; fail "up failed"; }
await "health of the first process" healthy ${project}_skyrow-1_1
await "health of the second process" healthy ${project}_skyrow-2_1
key=$(cat "$secrets/master-key")
await "an answer through TLS" curl --silent --fail "${secure[@]}" "$url/" --output /dev/null
call "$key" schema:create "$note_type" "${secure[@]}" | jq --exit-status .result >/dev/null || fail "no type could be made"
saved "$key" first "${secure[@]}" || fail "nothing was saved: $(save "$key" first "${secure[@]}")"
expect "the record, read by psql" "$(sql "SELECT content FROM app.note WHERE _id = 'first'")" Hello
expect "whether the role of the service is a superuser" "$(sql "SELECT rolsuper FROM pg_roles WHERE rolname = 'skyrow'")" f
expect "HTTP version" "$(curl --silent --output /dev/null --write-out '%{http_version}' "${secure[@]}" "$url/")" 2
expect "plain HTTP" "$(curl --silent --output /dev/null --write-out '%{http_code}' "http://localhost:$HTTP_PORT/rpc")" 308
expect "/readyz from outside" "$(curl --silent --output /dev/null --write-out '%{http_code}' "${secure[@]}" "$url/readyz")" 404
# The client that the service sees is curl's address, whatever curl says; not the proxy's.
call "$key" record:fetch '{"ids":["note/first"]}' "${secure[@]}" --header 'X-Forwarded-For: 203.0.113.9' >/dev/null
clients=$(for number in 1 2; do podman logs ${project}_skyrow-${number}_1 2>&1; done | grep '^{' |
    jq --raw-output 'select(.action == "record:fetch") | .client' | sort --unique | tr '\n' ' ')
echo "clients, as the service sees them: $clients"
case " $clients" in
    *" 203.0.113.9 "*) fail "the service believes what a client claims about its address" ;;
    *" ${SERVICE_NETWORK%.*}."*) fail "the service takes the proxy for the client" ;;
    " ") fail "the logs name no client" ;;
esac
expect "a change, live through the proxy" "$(live_change "$key" through-the-proxy "${secure[@]}")" created
fetches() { podman logs "${project}_skyrow-$1_1" 2>&1 | grep --count record:fetch || true; }
# A request of ours reaches this process; the proxy finds out where it is now by itself.
serves() {
    local before
    before=$(fetches "$1")
    content "$key" first "${secure[@]}" >/dev/null
    content "$key" first "${secure[@]}" >/dev/null
    [ "$(fetches "$1")" -gt "$before" ]
}
for number in 1 2; do
    await "the proxy's request to process $number" serves $number
    podman stop --time 50 ${project}_skyrow-$((3 - number))_1 >/dev/null
    expect "the record, from process $number alone" "$(content "$key" first "${secure[@]}")" Hello
    podman start ${project}_skyrow-$((3 - number))_1 >/dev/null
    await "health of process $((3 - number))" healthy ${project}_skyrow-$((3 - number))_1
done
take_down
