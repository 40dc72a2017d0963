internal import SkyrowModel
internal import SkyrowPostgres
import SkyrowStore

// The check of exposed functions (Documentation/Decisions/sql-functions.md). psql can write their table, too.

extension DoctorCheck {
    /// Rows: the `name` and `signature` of an exposed function, `fault` with why it cannot be called, and `unguarded`.
    package static let functions = DoctorCheck(
        "functions",
        "Exposed functions",
        needsTables: true,
        .query { scope in
            """
            SELECT known.name, known.signature, coalesce(known.fault, '') AS fault,
                coalesce(known.is_unguarded, false)::text AS unguarded
            FROM \(scope.schema)._exposed() AS known ORDER BY known.name
            """
        },
        judge: { rows, limits in rows.flatMap { findings($0, limits.actions) } }
    )

    private static func findings(_ row: DoctorRow, _ actions: Set<ActionName>) -> [DoctorFinding] {
        let (name, signature, fault) = (row["name"], row["signature"], row["fault"])
        var findings: [DoctorFinding] = []
        if !fault.isEmpty {
            findings.append(
                DoctorFinding(
                    .warning,
                    "The function \(signature) is exposed as '\(name)' but cannot be called: \(fault)",
                    meaning: "Clients that call '\(name)' get the error that it does not exist.",
                    remedy: "Correct the function, or hide it.",
                    commands: ["$ skyrow functions hide \(name)"]
                )
            )
        }
        if actions.contains(ActionName(name)) {
            findings.append(
                DoctorFinding(
                    .warning,
                    "The function \(signature) is exposed as '\(name)', which is the name of an action.",
                    meaning: "Calls of that name reach the action, never the function.",
                    remedy: "Expose the function by another name, and hide this one.",
                    commands: ["$ skyrow functions hide \(name)"]
                )
            )
        }
        if row.flag("unguarded") {
            findings.append(
                DoctorFinding(
                    .error,
                    "The exposed function \(signature) is SECURITY DEFINER and does not set a search path.",
                    meaning:
                        "It runs with the rights of its owner, and a role that may create objects in a schema of the search "
                        + "path decides which tables and functions its unqualified names mean.",
                    remedy: "Set its search path, or make it SECURITY INVOKER.",
                    commands: ["ALTER FUNCTION \(signature) SET search_path FROM CURRENT;"]
                )
            )
        }
        return findings
    }
}
