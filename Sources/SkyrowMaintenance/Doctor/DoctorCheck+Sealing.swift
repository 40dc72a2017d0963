internal import SkyrowPostgres
internal import SkyrowStore

// The check of sealed values and their keys.

extension DoctorCheck {
    /// Rows: a `place` with sealed values, the name of a `key`, and the `count` of values it sealed; and the keys
    /// stored in the database, with the place `_secret`.
    package static let sealing = DoctorCheck(
        "sealing",
        "Keys that seal secrets of users",
        needsTables: true,
        .queries { scope in
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
                        "\(row["count"]) \(what) (\(row["place"])) are sealed with the key '\(row["key"])', which does not "
                            + "exist.",
                        meaning: row["place"].hasPrefix("_identity")
                            ? "The service has no tokens for these users until they sign in with the provider again."
                            : "The users cannot log in with TOTP codes; their recovery codes work.",
                        remedy:
                            "Add the key to the file of secrets-key again. If it is lost, call auth:totp:remove with the master "
                            + "key for users who ask, or clear the tokens."
                    )
                }
                guard row["key"] != known.first else { return nil }
                return DoctorFinding(
                    .warning,
                    "\(row["count"]) \(what) (\(row["place"])) are sealed with the key '\(row["key"])', which is not the first "
                        + "one.",
                    meaning: "The key cannot be removed from the file, and a person who has it can open them.",
                    remedy: "Seal them again.",
                    commands: ["$ skyrow key reseal"]
                )
            }
        }
    )
}
