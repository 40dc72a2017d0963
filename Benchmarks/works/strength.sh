# shellcheck shell=bash
# What the estimate of a password's strength takes: sign-ups that a service refuses which makes no accounts, with the estimate before the
# refusal and without.

strength_heading() { echo 'The strength of passwords'; }

STRENGTH_PASSWORDS='ordinary phrase words digits random'

strength_names() {
    case $1 in
        ordinary) echo '12 characters, a word and a year' ;;
        phrase) echo '28 characters, four words' ;;
        words) echo '64 characters, a word with digits in the place of letters eight times' ;;
        digits) echo '64 characters, dates' ;;
        random) echo '64 random characters' ;;
    esac
}

# What is measured of is looked at once.
strength_password() {
    case $1 in
        ordinary) echo 'Sommer-2026x' ;;
        phrase) echo 'correct horse battery staple' ;;
        words) printf 'p4ssw0rd%.0s' 1 2 3 4 5 6 7 8 ;;
        digits) printf '1.2.19871.2.1987%.0s' 1 2 3 4 ;;
        random) echo 'hM3xQz8vLp2RtYwK7nBcJd5FgSa9UeXo1ZiV6TqNyWr4GhPmDkCbEjAuOsIlHfTx' ;;
    esac
}

strength_measure() {
    local round kind side score
    for score in 0 1; do
        add_side "strength$score" "$MEASURED" bench
        start_side --self-signup off --rate-limit-login off --password-strength "$score"
    done
    for ((round = 1; round <= ROUNDS; round++)); do
        note "The strength of passwords, round $round of $ROUNDS"
        for kind in $STRENGTH_PASSWORDS; do
            PASSWORD=$(strength_password "$kind")
            export PASSWORD
            for side in $(in_turns "$round" strength0 strength1); do
                use "$side"
                measure_wrk signup "$kind.$side" user "$ROWS"
            done
        done
    done
    for score in 0 1; do
        use "strength$score"
        stop_side
    done
    use plain
}

strength_report() {
    local kind
    cat <<'EOT'
| Password | refused without an estimate, service µs | with one | the estimate, µs | spread |
|---|---|---|---|---|
EOT
    for kind in $STRENGTH_PASSWORDS; do
        differences "$kind.strength1.server" "$kind.strength0.server" "$kind.estimate"
        printf '| %s | %s | %s | %s | %s |\n' "$(strength_names "$kind")" "$(median "$kind.strength0.server" %.0f)" \
            "$(median "$kind.strength1.server" %.0f)" "$(median "$kind.estimate" %.0f)" "$(spread "$kind.estimate" %.0f)"
    done
}
