package import SkyrowModel
package import SkyrowPostgres

/// The second interpreter of an access scope: the condition that PostgreSQL judges in the statement itself.
///
/// Its text depends on what kind of caller asks, never on who:
///
/// ```sql
/// "r"."_database" = '_public' AND ("r"."_access" IS NULL OR "r"."_owner" = $1
///   OR coalesce("r"."_access" ?| (SELECT $2::text::text[]), false))
/// ```
///
/// A list is an object by the keys of its subjects, and every level includes reading, so to read is to find one key of the
/// audience in it. The audience stands in a sub-select, which PostgreSQL reads at most once a statement, and only for a row
/// that gets there. `coalesce` changes nothing but the planner's estimate: it takes `?|` of a parameter to hold for one
/// row in a hundred. To update or delete, the level counts too:
///
/// ```sql
/// "r"."_owner" = $1 OR ("r"."_access" ?| (SELECT $2::text::text[]) AND EXISTS (
///   SELECT FROM jsonb_each_text("r"."_access") AS "e" ("subject", "level")
///   WHERE "e"."level" IN ('update', 'write') AND "e"."subject" = ANY ((SELECT $3::text::text[])::text[])))
/// ```
///
/// Rules of a type change what is asked: an `override` asks no list, a `require` something besides it (``ClassRules``), and a
/// rule that names a field looks for the user there:
///
/// ```sql
/// ("r"."_owner" = $1 OR "r"."members" @> ARRAY[$2::text]) AND ("r"."_access" IS NULL OR "r"."_owner" = $3 OR …)
/// ```
///
/// Documentation/Decisions/access.md has the figures.
extension AccessScope {
    /// The condition on the rows of `table`, an alias of the statement; true, false or NULL for each.
    package func condition(on table: SQLIdentifier) -> SQL {
        shape.condition(on: table).binding { parameter, values in
            guard case .access(let part) = parameter else { return }
            append(part, to: &values)
        }
    }

    /// What the text of the condition is made of.
    var shape: AccessShape { AccessShape(self) }
}
