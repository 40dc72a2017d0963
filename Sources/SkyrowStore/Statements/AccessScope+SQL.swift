package import SkyrowModel
package import SkyrowPostgres

/// The second interpreter of an access scope: the condition that PostgreSQL judges in the statement itself.
///
/// Its text depends on what kind of caller asks, never on who:
///
/// ```sql
/// "r"."_database" = '_public' AND ("r"."_access" IS NULL OR "r"."_owner" = $1
///   OR ("r"."_access" @> '[{"public": true}]' AND ("r"."_access" @> '[{"public": true, "level": "read"}]' OR …))
///   OR (SELECT $2::text::jsonb) ?| ARRAY[CASE WHEN "r"."_access" -> 0 ->> 'level' IN ('read', 'write')
///      THEN "r"."_access" -> 0 ->> 'role' END, …]
///   OR jsonb_path_exists("r"."_access", 'strict $[*] ? (…)', (SELECT $3::text::jsonb), true))
/// ```
///
/// The path at the end is the whole rule; what stands before it is cheaper and admits most records. The caller's roles
/// stand in sub-selects, so that PostgreSQL parses them at most once, and only for a row that has got there. The third
/// line looks up the roles of a list's first entries among the caller's, where the path would compare each with each;
/// it is there for callers with many roles and statements that judge many rows
/// (Documentation/Decisions/0012-rules-and-bounds.md has the figures). Strict and silent, the path gives false or
/// NULL for a list that was written in psql and is none.
extension AccessScope {
    /// How many rows a statement judges.
    package enum Rows: Hashable, Sendable {
        /// At most one, for which to prepare a look-up costs more than it saves.
        case one
        case many
    }

    /// The condition on the rows of `table`, an alias of the statement; true, false or NULL for each.
    package func condition(on table: SQLIdentifier, variables: AccessVariables?, rows: Rows = .many) -> SQL {
        shape.condition(on: table, rows: rows).binding { parameter, values in
            guard case .read(let part) = parameter else { return }
            append(part, of: variables, to: &values)
        }
    }

    /// What the text of the condition is made of.
    var shape: AccessShape { AccessShape(self) }
}
