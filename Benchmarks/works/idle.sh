# shellcheck shell=bash
# Clients that have made a request and stay connected without a further one.

idle_heading() { echo 'Idle clients'; }

# hold COUNT: opens the connections of the present side; sets HOLDER.
hold() {
    local body='{"jsonrpc":"2.0","id":1,"method":"record:fetch","params":{"ids":["item/100000000001"]}}'
    printf 'POST /rpc HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nX-Skygear-API-Key: %s\r\nAuthorization: Bearer %s\r\nContent-Length: %d\r\n\r\n%s' \
        "$API_KEY" "$TOKEN" "${#body}" "$body" >"$WORK/request"
    "$HERE/hold-connections" "$PORT" "$1" "$WORK/request" "$SCHEME" >"$WORK/held" 2>"$WORK/held.errors" &
    HOLDER=$!
    until grep --quiet --line-regexp open "$WORK/held"; do
        kill -0 "$HOLDER" 2>/dev/null || die "The connections failed: $(tail -n 3 "$WORK/held.errors")"
        sleep 0.2
    done
}

idle_measure() {
    local round side tls rounds=$((ROUNDS < 3 ? ROUNDS : 3))
    # As many for those who hold the connections; the service takes what it may have by itself.
    (($(ulimit -H -n) >= IDLE + 1000)) || die "This takes $((IDLE + 1000)) open files; the hard limit (ulimit -Hn) is $(ulimit -H -n)."
    ulimit -S -n "$(ulimit -H -n)"
    make_certificate
    add_side idle "$MEASURED" bench
    add_side idle-tls "$MEASURED" bench https
    for ((round = 1; round <= rounds; round++)); do
        note "Idle clients, round $round of $rounds"
        for side in $(in_turns "$round" idle idle-tls); do
            use "$side"
            tls=()
            if [[ $SCHEME == https ]]; then tls=(--tls-certificate "$WORK/tls.pem" --tls-key "$WORK/tls.key"); fi
            start_side --maximum-connections "$((IDLE + 1000))" --client-share 100 --idle-timeout 1h --header-timeout 1h \
                "${tls[@]}"
            measure_wrk fetch "idle.$side.before" item "$ROWS"
            record "idle.$side.none" "$(memory "$SERVICE" Rss)"
            hold "$IDLE"
            record "idle.$side.held" "$(memory "$SERVICE" Rss)"
            measure_wrk fetch "idle.$side.during" item "$ROWS"
            kill -TERM "$HOLDER"
            wait "$HOLDER" 2>/dev/null || true
            sleep 2
            record "idle.$side.left" "$(memory "$SERVICE" Rss)"
            stop_side
        done
    done
}

idle_report() {
    local side label i none held
    cat <<EOT
| Resident memory of the service, MB | before | $(grouped "$IDLE") idle clients | after they left | a client, KB | spread |
|---|---|---|---|---|---|
EOT
    for side in idle idle-tls; do
        read -ra none <<<"$(series "idle.$side.none")"
        read -ra held <<<"$(series "idle.$side.held")"
        for i in "${!none[@]}"; do
            record "idle.$side.client" "$(awk -v a="${held[i]}" -v b="${none[i]}" -v n="$IDLE" 'BEGIN { printf "%.3f", (a - b) * 1024 / n }')"
        done
        label=HTTP
        [[ $side == idle ]] || label='HTTP over TLS'
        printf '| %s | %s | %s | %s | %s | %s |\n' "$label" "$(median "idle.$side.none" %.1f)" "$(median "idle.$side.held" %.1f)" \
            "$(median "idle.$side.left" %.1f)" "$(median "idle.$side.client" %.1f)" "$(spread "idle.$side.client" %.1f)"
    done
    cat <<EOT

Each client has a session and has fetched a record. PostgreSQL has no connection for them. Beside them $CONNECTIONS busy connections fetch
$(median idle.idle.during.rate %.0f) records a second with a p99 of $(median idle.idle.during.p99 %.2f) ms ($(median idle.idle.before.rate %.0f) and $(median idle.idle.before.p99 %.2f) ms before they came). Each service is started anew and
measured $((ROUNDS < 3 ? ROUNDS : 3)) times.
EOT
}
