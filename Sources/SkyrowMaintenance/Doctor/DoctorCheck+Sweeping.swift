internal import SkyrowPostgres

// Checks of what the service deletes periodically.

extension DoctorCheck {
    /// Rows: a `kind` of leftover rows, and their `count`.
    package static let sweeping = DoctorCheck(
        "sweeping",
        "Expired data",
        needsTables: true,
        .query { scope in
            """
            SELECT 'sessions' AS kind, count(*)::text AS count
            FROM \(scope.schema.internal)._session AS session JOIN \(scope.schema.internal)._user AS account ON account.id = session.user_id
            WHERE (session.expires_at < now() - interval '1 day' OR session.epoch <> account.epoch AND NOT account.disabled)
                AND session.last_used_at < now() - interval '1 day'
            UNION ALL
            SELECT 'counts of wrong passwords', count(*)::text FROM \(scope.schema.internal)._throttle
            WHERE window_start < now() - interval '27 hours' AND blocked_until < now() - interval '1 day'
            UNION ALL
            SELECT 'places of logins', count(*)::text FROM \(scope.schema.internal)._known_client
            WHERE seen_at < now() - interval '31 days'
            UNION ALL
            SELECT 'one-time codes', count(*)::text FROM \(scope.schema.internal)._code
            WHERE link_expires_at < now() - interval '2 days'
            UNION ALL
            SELECT 'used tokens of providers', count(*)::text FROM \(scope.schema.internal)._used_token
            WHERE expires_at < now() - interval '1 day'
            UNION ALL
            SELECT 'unfinished logins', count(*)::text FROM \(scope.schema.internal)._pending_login
            WHERE expires_at < now() - interval '1 day'
            UNION ALL
            SELECT 'sign-ins with providers', count(*)::text FROM \(scope.schema.internal)._flow
            WHERE expires_at < now() - interval '1 day'
            UNION ALL
            SELECT 'mails', count(*)::text FROM \(scope.schema.internal)._mail
            WHERE state IN ('sent', 'dropped') AND created_at < now() - interval '25 hours'
                OR state = 'waiting' AND created_at < now() - interval '50 hours'
            UNION ALL
            SELECT 'announcements of files', count(*)::text FROM \(scope.schema.internal)._asset
            WHERE state = 'expected' AND expires_at < now() - interval '1 day'
            UNION ALL
            SELECT 'complete uploads of files', count(*)::text FROM \(scope.schema.internal)._upload AS upload
            JOIN \(scope.schema.internal)._asset AS asset ON asset.name = upload.name
            WHERE asset.stored_at < now() - interval '2 days'
            UNION ALL
            SELECT 'files without a row', count(*)::text FROM \(scope.schema.internal)._garbage
            WHERE deleted_at < now() - interval '1 day'
            """
        },
        finding: { row, _ in
            guard row.integer("count") > 0 else { return nil }
            let what = "\(row["count"]) expired \(row["kind"]) have not been removed for a day."
            guard !row["kind"].contains("files") else {
                return DoctorFinding(
                    .warning,
                    what,
                    meaning: "Files that no record refers to take space.",
                    remedy:
                        "Run the service, which removes them within an hour; if it is running, its log has the reason under "
                        + "\"Files could not be removed\"."
                )
            }
            return DoctorFinding(
                .warning,
                what,
                meaning: "The account tables grow, and user data is kept for too long.",
                remedy:
                    "Run the service, which removes them within ten minutes; if it is running, its log has the reason under "
                    + "\"Expired rows could not be removed\"."
            )
        }
    )

    /// Rows: a mail `state`, the `count` of its mails, and the most recent `failure`.
    package static let mail = DoctorCheck(
        "mail",
        "Unsent mail",
        needsTables: true,
        .query { scope in
            """
            SELECT state, count(*)::text AS count,
                coalesce((array_agg(failure ORDER BY id DESC) FILTER (WHERE failure IS NOT NULL))[1], '') AS failure
            FROM \(scope.schema.internal)._mail
            WHERE state = 'dead' AND created_at > now() - interval '1 day'
                OR state = 'waiting' AND created_at < now() - interval '1 hour'
            GROUP BY state ORDER BY state
            """
        },
        finding: { row, _ in
            let said = row["failure"].isEmpty ? "" : " The last failure: \(row["failure"])"
            guard row["state"] == "dead" else {
                return DoctorFinding(
                    .warning,
                    "\(row["count"]) mails have waited for more than an hour.\(said)",
                    meaning: "Users wait for codes by mail, and late mails contain expired codes.",
                    remedy: "Run the service with the setting mail; if it is running, its log has the reason under "
                        + "\"Mail could not be sent\"."
                )
            }
            return DoctorFinding(
                .warning,
                "\(row["count"]) mails of the last day could not be delivered.\(said)",
                meaning:
                    "Users did not receive codes that they requested, or have an address that does not accept mail.",
                remedy:
                    "If the mail server is the cause, correct the settings mail and mail-from; users then request a new "
                    + "code. SELECT kind, target, failure FROM _mails WHERE state = 'dead' lists them."
            )
        }
    )
}
