internal import SkyrowPostgres
import SkyrowStore

// The check of the operator's triggers (Documentation/Decisions/settings-and-applications.md).

extension DoctorCheck {
    package static let triggerPaths = DoctorCheck(
        "trigger-paths",
        "Search paths of trigger functions",
        needsTables: true,
        .query { scope in
            """
            SELECT DISTINCT function.oid::regprocedure::text AS function
            FROM pg_catalog.pg_trigger AS held
            JOIN pg_catalog.pg_class AS home ON home.oid = held.tgrelid
            JOIN pg_catalog.pg_proc AS function ON function.oid = held.tgfoid
            JOIN pg_catalog.pg_language AS language ON language.oid = function.prolang
            WHERE home.relnamespace IN \(scope.namespaces) AND NOT held.tgisinternal AND lanname IN ('plpgsql', 'sql')
                AND NOT starts_with(function.proname, '_')
                AND NOT EXISTS (
                    SELECT FROM unnest(function.proconfig) AS setting WHERE starts_with(setting, 'search_path=')
                )
            ORDER BY 1
            """
        },
        finding: { row, _ in
            DoctorFinding(
                .warning,
                "The trigger function \(row["function"]) does not set a search path.",
                meaning:
                    "The service's connections have an empty search path, since all applications share them: a table or a "
                    + "function that it names without a schema is not found, and writes that fire the trigger fail.",
                remedy: "Set the search path of psql, which is the application's.",
                commands: ["ALTER FUNCTION \(row["function"]) SET search_path FROM CURRENT;"]
            )
        }
    )
}
