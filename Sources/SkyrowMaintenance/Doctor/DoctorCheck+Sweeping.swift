internal import SkyrowPostgres

// What the service removes by itself.

extension DoctorCheck {
    /// Rows: what was not removed, a `kind`, and the `count`.
    package static let sweeping = DoctorCheck(
        "sweeping",
        "What the service removes by itself",
        needsTables: true,
        queries: { scope in
            [
                """
                SELECT 'sessions that have ended' AS kind, count(*)::text AS count
                FROM \(scope.schema)._session AS session JOIN \(scope.schema)._user AS account ON account.id = session.user_id
                WHERE (session.expires_at < now() - interval '1 day' OR session.epoch <> account.epoch AND NOT account.disabled)
                    AND session.last_used_at < now() - interval '1 day'
                UNION ALL
                SELECT 'counts of guesses', count(*)::text FROM \(scope.schema)._throttle
                WHERE window_start < now() - interval '1 day' AND blocked_until < now() - interval '1 day'
                UNION ALL
                SELECT 'places of former logins', count(*)::text FROM \(scope.schema)._known_client
                WHERE seen_at < now() - interval '31 days'
                """
            ]
        },
        judge: { rows, _ in
            rows.filter { $0.integer("count") > 0 }.map { row in
                DoctorFinding(
                    .warning,
                    "\(row["count"]) \(row["kind"]) were not removed for a day.",
                    meaning:
                        "The tables of accounts grow, and what is kept of users is kept for longer than it should be.",
                    remedy:
                        "Have a process of the service run, which removes them within ten minutes; where one does, its log says "
                        + "why it cannot: \"What has expired could not be removed\"."
                )
            }
        }
    )
}
