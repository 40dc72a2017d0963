internal import SkyrowModel
internal import SkyrowPostgres
import SkyrowStore

// Checks of keys with scopes (Documentation/Decisions/sessions-and-keys.md). psql can write them too.

extension DoctorCheck {
    /// Rows: the `id` and `name` of a key, and a `kind`: `scope` or `network` with its `text`, `refused` with the
    /// `count` of refused uses within a week, or `endless`.
    package static let keys = DoctorCheck(
        "keys",
        "Keys with scopes",
        needsTables: true,
        .query { scope in
            """
            SELECT 'scope' AS kind, key.id, quote_literal(key.name) AS name, scope AS text, NULL::bigint AS count
            FROM \(scope.schema.internal)._key AS key CROSS JOIN unnest(key.scopes) AS scope
            WHERE key.revoked_at IS NULL
            UNION ALL
            SELECT 'network', key.id, quote_literal(key.name), network::text, NULL
            FROM \(scope.schema.internal)._key AS key CROSS JOIN unnest(key.networks) AS network
            WHERE key.revoked_at IS NULL
            UNION ALL
            SELECT 'refused', key.id, quote_literal(key.name), NULL, count(*)
            FROM \(scope.schema.internal)._key AS key JOIN \(scope.schema.internal)._audit AS event ON event.key_id = key.id
            WHERE event.event = 'key' AND event.at > now() - interval '7 days'
            GROUP BY key.id, key.name
            UNION ALL
            SELECT 'endless', key.id, quote_literal(key.name), NULL, NULL
            FROM \(scope.schema.internal)._key AS key
            WHERE key.kind = 'server' AND key.revoked_at IS NULL AND key.expires_at IS NULL
                AND key.networks = '{}'
            ORDER BY 2, 1, 4
            """
        },
        finding: { row, limits in finding(row, limits.actions) }
    )

    private static func finding(_ row: DoctorRow, _ actions: Set<ActionName>) -> DoctorFinding? {
        let (id, name, text) = (row["id"], row["name"], row["text"])
        let look = "SELECT * FROM _keys WHERE id = '\(id)';"
        switch row["kind"] {
        case "scope":
            guard let scope = try? KeyScope(text) else { return notUnderstood("scope '\(text)'", id, name, look) }
            guard case .action(let action) = scope, !actions.contains(action) else { return nil }
            return DoctorFinding(
                .warning,
                "The key \(id), \(name), has the scope '\(text)', which names an action that does not exist.",
                meaning: "The scope allows nothing, and would allow an action of a later version with that name.",
                remedy: "Correct the name, remove the scope, or revoke the key.",
                commands: [look, "$ skyrow key revoke \(id)"]
            )
        case "network":
            if AddressRange(text) != nil { return nil }
            return notUnderstood("network '\(text)'", id, name, look)
        case "refused":
            let count = row["count"]
            return DoctorFinding(
                .warning,
                "The key \(id), \(name), was refused in \(count) \(count == "1" ? "minute" : "minutes") of the last week.",
                meaning:
                    "It has expired, was revoked, or was used from a network that is not allowed. Its holder is not aware of "
                    + "that, or should not have it.",
                remedy: "Find out who uses it, by the addresses.",
                commands: [
                    "SELECT at, address, request_id FROM _audits WHERE key_id = '\(id)' ORDER BY at DESC LIMIT 20;"
                ]
            )
        default:
            return DoctorFinding(
                .warning,
                "The key \(id), \(name), is a server key that never expires and is accepted from every address.",
                meaning: "It bypasses access rules within its scopes, also for a person who steals it.",
                remedy: "Create a key with a network or an expiry, and revoke this one.",
                commands: [
                    "$ skyrow key create --kind server --name NAME --network RANGE", "$ skyrow key revoke \(id)",
                ]
            )
        }
    }

    private static func notUnderstood(_ what: String, _ id: String, _ name: String, _ look: String) -> DoctorFinding {
        DoctorFinding(
            .error,
            "The key \(id), \(name), has the \(what), which this version of skyrow does not support.",
            meaning: "A key with unsupported values is refused.",
            remedy: "Correct it, or revoke the key.",
            commands: [look, "$ skyrow key revoke \(id)"]
        )
    }
}
