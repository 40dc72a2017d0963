internal import SkyrowPostgres

// Checks of what the service deletes periodically.

extension DoctorCheck {
    /// Rows: a `kind` of leftover rows, and their `count`.
    package static let sweeping = DoctorCheck(
        "sweeping",
        "What the service removes by itself",
        needsTables: true,
        queries: { scope in
            [
                """
                SELECT 'sessions that have ended' AS kind, count(*)::text AS count
                FROM \(scope.schema.internal)._session AS session JOIN \(scope.schema.internal)._user AS account ON account.id = session.user_id
                WHERE (session.expires_at < now() - interval '1 day' OR session.epoch <> account.epoch AND NOT account.disabled)
                    AND session.last_used_at < now() - interval '1 day'
                UNION ALL
                SELECT 'counts of guesses', count(*)::text FROM \(scope.schema.internal)._throttle
                WHERE window_start < now() - interval '27 hours' AND blocked_until < now() - interval '1 day'
                UNION ALL
                SELECT 'places of former logins', count(*)::text FROM \(scope.schema.internal)._known_client
                WHERE seen_at < now() - interval '31 days'
                UNION ALL
                SELECT 'one-time codes', count(*)::text FROM \(scope.schema.internal)._code
                WHERE link_expires_at < now() - interval '2 days'
                UNION ALL
                SELECT 'used tokens of providers', count(*)::text FROM \(scope.schema.internal)._used_token
                WHERE expires_at < now() - interval '1 day'
                UNION ALL
                SELECT 'log-ins without a second factor', count(*)::text FROM \(scope.schema.internal)._pending_login
                WHERE expires_at < now() - interval '1 day'
                UNION ALL
                SELECT 'sign-ins with providers', count(*)::text FROM \(scope.schema.internal)._flow
                WHERE expires_at < now() - interval '1 day'
                UNION ALL
                SELECT 'mails', count(*)::text FROM \(scope.schema.internal)._mail
                WHERE state IN ('sent', 'dropped') AND created_at < now() - interval '25 hours'
                    OR state = 'waiting' AND created_at < now() - interval '50 hours'
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

    /// Rows: a mail `state`, the `count` of its mails, and the most recent `failure`.
    package static let mail = DoctorCheck(
        "mail",
        "Mail that has not been sent",
        needsTables: true,
        queries: { scope in
            [
                """
                SELECT state, count(*)::text AS count,
                    coalesce((array_agg(failure ORDER BY id DESC) FILTER (WHERE failure IS NOT NULL))[1], '') AS failure
                FROM \(scope.schema.internal)._mail
                WHERE state = 'dead' AND created_at > now() - interval '1 day'
                    OR state = 'waiting' AND created_at < now() - interval '1 hour'
                GROUP BY state ORDER BY state
                """
            ]
        },
        judge: { rows, _ in
            rows.map { row in
                let said = row["failure"].isEmpty ? "" : " The last failure: \(row["failure"])"
                guard row["state"] == "dead" else {
                    return DoctorFinding(
                        .warning,
                        "\(row["count"]) mails have waited for more than an hour.\(said)",
                        meaning: "Users wait for codes by mail, and what is sent late brings a code that has ended.",
                        remedy:
                            "Have a process of the service run with mail set; where one does, its log says why a mail was not "
                            + "accepted: \"Mail could not be sent\"."
                    )
                }
                return DoctorFinding(
                    .warning,
                    "\(row["count"]) mails of the last day were given up.\(said)",
                    meaning: "Users asked for codes and have not got them, or have an address that takes no mail.",
                    remedy:
                        "Where the reason is the server, mend the settings mail and mail-from; users then ask for another code. "
                        + "SELECT kind, target, failure FROM _mails WHERE state = 'dead' has each."
                )
            }
        }
    )
}
