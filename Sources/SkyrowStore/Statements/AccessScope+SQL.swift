package import SkyrowModel
package import SkyrowPostgres

/// The SQL of an access scope: a condition that PostgreSQL evaluates in the statement itself.
///
/// Its text depends on the kind of caller, never on the caller's identity:
///
/// ```sql
/// "r"."_database" = '_public' AND ("r"."_access" IS NULL OR "r"."_owner" = $1
///   OR coalesce("r"."_access" ?| (SELECT $2::text::text[]), false))
/// ```
///
/// An access list is a JSON object keyed by subject, and every level includes reading, so a caller may read a record if the list
/// has one key of the caller's audience. The audience is in a sub-select, which PostgreSQL evaluates at most once per statement,
/// and only if a row needs it. `coalesce` only changes the planner's estimate: without it the planner assumes that `?|` with a
/// parameter holds for one row in a hundred. To update or delete, the level counts too:
///
/// ```sql
/// "r"."_owner" = $1 OR ("r"."_access" ?| (SELECT $2::text::text[]) AND EXISTS (
///   SELECT FROM jsonb_each_text("r"."_access") AS "e" ("subject", "level")
///   WHERE "e"."level" IN ('update', 'write') AND "e"."subject" = ANY ((SELECT $3::text::text[])::text[])))
/// ```
///
/// Rules of a type change the condition. With `override` lists have no effect, with `require` a rule must hold besides
/// (``ClassRules``), and a rule that names a field looks for the user in that field:
///
/// ```sql
/// ("r"."_owner" = $1 OR "r"."members" @> ARRAY[$2::text]) AND ("r"."_access" IS NULL OR "r"."_owner" = $3 OR …)
/// ```
///
/// Documentation/Decisions/access.md has the figures.
extension AccessScope {
    /// The condition on the rows of `table`, an alias in the statement: true, false or NULL for each row.
    package func condition(on table: SQLIdentifier) -> SQL {
        shape.condition(on: table).binding { parameter, values in
            guard case .access(let part) = parameter else { return }
            append(part, to: &values)
        }
    }
}
