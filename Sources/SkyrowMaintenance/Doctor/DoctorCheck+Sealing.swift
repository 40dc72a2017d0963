internal import SkyrowPostgres
internal import SkyrowStore

// The check of sealed values and their keys.

extension DoctorCheck {
    /// Rows: a `place` with sealed values, the name of a `key`, and the `count` of values it sealed; and the keys
    /// stored in the database, with the place `_secret`.
    package static let sealing = DoctorCheck(
        "sealing",
        "The keys that secrets of users are sealed with",
        needsTables: true,
        queries: { scope in
            SealedColumn.allCases.map { $0.count(in: scope.schema) } + [
                "SELECT '_secret' AS place, '_' || number::text AS key, '0' AS count FROM \(scope.schema.internal)._secret ORDER BY number DESC"
            ]
        },
        judge: { rows, limits in
            guard let given = limits.sealingKeys else { return [] }
            let own = rows.filter { $0["place"] == "_secret" }.map { $0["key"] }
            let known = given + own
            return rows.filter { $0["place"] != "_secret" }.compactMap { row in
                let what = row["place"].hasPrefix("_identity") ? "tokens of providers" : "secrets of second factors"
                guard known.contains(row["key"]) else {
                    return DoctorFinding(
                        .error,
                        "\(row["count"]) \(what) (\(row["place"])) are sealed with the key '\(row["key"])', which there is not.",
                        meaning: row["place"].hasPrefix("_identity")
                            ? "Users have to sign in with the provider again before the service has tokens for them."
                            : "The users cannot log in with a code by time; their recovery codes work.",
                        remedy:
                            "Put the key into the file of secrets-key again. Where it is lost, have the master key call auth:totp:remove for "
                            + "those who ask, or clear the tokens."
                    )
                }
                guard row["key"] != known.first else { return nil }
                return DoctorFinding(
                    .warning,
                    "\(row["count"]) \(what) (\(row["place"])) are sealed with the key '\(row["key"])', which is not the first.",
                    meaning: "The key cannot be taken out of the file, and who has it opens them.",
                    remedy: "Seal them anew.",
                    commands: ["$ skyrow key reseal"]
                )
            }
        }
    )
}
