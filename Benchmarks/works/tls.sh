# shellcheck shell=bash
# The same requests over TLS, on connections that stay, and what a new connection costs.

tls_heading() { echo 'TLS'; }

make_certificate() {
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=localhost \
        -addext 'subjectAltName=DNS:localhost,IP:127.0.0.1' -keyout "$WORK/tls.key" -out "$WORK/tls.pem" \
        2>"$WORK/openssl.log" || die "openssl failed: $(tail -n 3 "$WORK/openssl.log")"
}

# New connections, one after the other in each of two programs, each with a full handshake and one request.
measure_handshakes() {
    local before after count=0 part clients=()
    before=$(process_time "$SERVICE")
    for part in 1 2; do
        openssl s_time -connect "127.0.0.1:$PORT" -new -time "$DURATION" -www /healthz >"$WORK/handshakes.$part" 2>&1 &
        clients+=("$!")
    done
    wait "${clients[@]}" || die "openssl s_time failed: $(tail -n 3 "$WORK/handshakes.$part")"
    after=$(process_time "$SERVICE")
    for part in 1 2; do
        # It says "123 connections in 5 real seconds, 456 bytes read per connection".
        count=$((count + $(sed -n 's/^\([0-9]*\) connections in [0-9]* real seconds.*/\1/p' "$WORK/handshakes.$part" | head -n 1)))
    done
    ((count > 0)) || die "There were no handshakes: $(tail -n 3 "$WORK/handshakes.1")"
    record tls.handshakes "$(divide "$count" "$DURATION")"
    record tls.handshake.time "$(divide "$((after - before))" "$count")"
}

tls_measure() {
    local round work side
    make_certificate
    add_side tls "$MEASURED" bench https
    start_side --tls-certificate "$WORK/tls.pem" --tls-key "$WORK/tls.key"
    for ((round = 1; round <= ROUNDS; round++)); do
        note "TLS, round $round of $ROUNDS"
        for work in fetch query save; do
            for side in $(in_turns "$round" plain tls); do
                use "$side"
                measure_side "$work" "tls.$work.$side"
            done
        done
        use tls
        measure_handshakes
    done
    use tls
    stop_side
}

tls_report() {
    print_sides tls 'fetch query save' plain 'without' tls 'with TLS'
    cat <<EOT

A new connection with a full handshake (ECDSA P-256) and one request takes the service $(median tls.handshake.time %.0f) µs of processor
time; two clients that do nothing else made $(median tls.handshakes %.0f) a second ($(spread tls.handshakes %.0f)).
EOT
}
