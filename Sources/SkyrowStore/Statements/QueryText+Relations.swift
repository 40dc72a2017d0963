internal import SkyrowModel
internal import SkyrowPostgres
internal import SkyrowQuery

// Conditions on the members of relations, which are rows of separate tables.

extension QueryText {
    /// The stored id of the record that has the relation; NULL if the field is hidden from the caller.
    func owner(of relation: ResolvedColumn) -> SQL {
        let alias = alias(relation.join)
        guard let limit = relation.limit else { return "\(alias).\"_id\"" }
        return "(CASE WHEN \(limit.condition(on: alias)) THEN \(alias).\"_id\" END)"
    }

    /// The table of the members, `"app"."post.likes"`; nil for a column that is not a relation.
    func members(of relation: ResolvedColumn) -> SQL? {
        let table = relation.join.map { joined[$0] } ?? root
        return column(relation).flatMap { table.members(of: $0) }
    }

    /// Returns the source of the members that the caller may read:
    ///
    /// ```sql
    /// FROM "app"."user" AS "s1" JOIN "app"."post.likes" AS "m1" ON "m1"."_to" = "s1"."_id"
    /// WHERE <access> AND "m1"."_from" = "r"."_id"
    /// ```
    func source(members relation: ResolvedColumn, _ joins: [ResolvedJoin], of outer: QueryText) -> SQL {
        guard let members = outer.members(of: relation) else { return "WHERE false" }
        let alias = SQLIdentifier(membersAt: number.map { $0 + 1 })
        let rows: SQL = " JOIN \(members) AS \(alias) ON \(alias).\"_to\" = \(self.alias(nil)).\"_id\""
        return "\(source(joins, joining: rows)) AND \(alias).\"_from\" = \(outer.owner(of: relation))"
    }

    /// The number of members that the caller may read; NULL if there is no such record.
    func memberCount(of relation: ResolvedColumn, _ number: Int) -> SQL {
        guard let inner = inner(number) else { return "NULL::bigint" }
        return """
            (CASE WHEN \(owner(of: relation)) IS NOT NULL THEN \
            (SELECT count(*) \(inner.source(members: relation, [], of: self))) END)
            """
    }

    /// `"r"."_id" IN (SELECT "m1"."_to" FROM "app"."post.likes" AS "m1" WHERE "m1"."_from" = $1) AND EXISTS (<owner>)`
    ///
    /// With one owner PostgreSQL infers that no member is there twice, and reads the first records in the order of their ids
    /// along the primary key of the members.
    func isMember(_ column: ResolvedColumn, of owner: ResolvedOwner) -> SQL {
        guard let inner = inner(owner.number), let members = inner.members(of: owner.relation) else { return "false" }
        let alias = SQLIdentifier(membersAt: owner.number + 1)
        let isOwner = inner.condition(.hasID(owner.idColumn, [owner.wireID]))
        if owner.idColumn.idForms == .plain, owner.relation.limit == nil {
            return """
                \(equated(column)) IN (SELECT \(alias)."_to" FROM \(members) AS \(alias) \
                WHERE \(alias)."_from" = \(owner.wireID)) \
                AND EXISTS (SELECT \(inner.source([])) AND \(isOwner))
                """
        }
        return """
            \(equated(column)) IN (SELECT \(alias)."_to" \
            \(inner.source([], joining: " JOIN \(members) AS \(alias) ON \(alias).\"_from\" = \(inner.owner(of: owner.relation))")) \
            AND \(isOwner))
            """
    }

    /// Returns the condition that the user in a column has a relation with the caller, by one index lookup for each record:
    ///
    /// ```sql
    /// coalesce((SELECT "edge"."mutual" FROM "app_internal"."_relation" AS "edge"
    ///   WHERE "edge"."user_id" = "r"."_owner" AND "edge"."name" = 'friend' AND "edge"."other_id" = $1), false)
    /// ```
    ///
    /// It is not an `EXISTS`, for which PostgreSQL would first build a table of all relations of the caller.
    func isRelated(_ column: ResolvedColumn, _ relation: ResolvedUserRelation) -> SQL {
        let other = equated(column)
        let holds: SQL = relation.direction == .mutual ? "\"edge\".\"mutual\"" : "true"
        let (from, to): (SQL, SQL) =
            relation.direction == .outward ? ("\(relation.user)", other) : (other, "\(relation.user)")
        return """
            coalesce((SELECT \(holds) FROM \(root.schema.internal)."_relation" AS "edge" \
            WHERE "edge"."user_id" = \(from) AND "edge"."name" = \(relation.relation.rawValue) \
            AND "edge"."other_id" = \(to)), false)
            """
    }
}
