internal import SkyrowModel
internal import SkyrowPostgres
internal import SkyrowQuery

// Conditions on the elements of arrays. `EXISTS` is never NULL, so neither are these.

extension QueryText {
    /// `EXISTS (SELECT FROM unnest("r"."labels") AS "e1" ("value") WHERE <predicate>)`
    func any(_ elements: ResolvedElements) -> SQL {
        guard let records = elements.records else {
            return "EXISTS (SELECT \(values(elements)) WHERE \(matches(elements.predicate)))"
        }
        guard let inner = inner(records.number) else { return "false" }
        return
            "EXISTS (SELECT \(inner.source(records, in: elements.column, of: around(elements.column))) AND (\(inner.matches(elements.predicate))))"
    }

    /// Returns the condition that the caller may read all of some records, and that all are members: as many are found as asked for.
    ///
    /// ```sql
    /// (EXISTS (SELECT FROM … WHERE <access> AND "m1"."_from" = "r"."_id" AND ("s1"."_id" = $1))
    /// AND (SELECT count(*) FROM … WHERE <access> AND "m1"."_from" = "r"."_id" AND ("s1"."_id" = ANY($2))) = $3)
    /// ```
    ///
    /// The condition on the first id is redundant, but an index finds the records that have it as a member.
    func hasEach(_ elements: ResolvedElements) -> SQL {
        guard let records = elements.records, let inner = inner(records.number),
            case .hasID(let column, let ids) = elements.predicate, let first = ids.first
        else { return "false" }
        let source = inner.source(records, in: elements.column, of: around(elements.column))
        // Clients may see the same id for a private and a public record.
        let id = inner.equated(column)
        let count: SQL =
            column.idForms == .plain ? "count(*)" : "count(DISTINCT \(StoredID.wireIDExpression(id)))"
        return """
            (EXISTS (SELECT \(source) AND (\(inner.condition(.hasID(column, [first]))))) \
            AND (SELECT \(count) \(source) AND (\(inner.condition(elements.predicate)))) = \(Int64(ids.count)))
            """
    }

    /// `"r"."tags" && ARRAY(SELECT "s1"."_id" FROM … WHERE <access> AND (<predicate>))`; NULL if there is no array.
    ///
    /// Uses an index on the array. Returns nil without such an index, and if the predicate may hold for many records: each row
    /// that another index finds would be compared with all of their ids, which PostgreSQL does not expect.
    func sharedElement(_ elements: ResolvedElements) -> SQL? {
        let column = elements.column
        // In `_union` each database may have another record with the value.
        guard number == nil, column.join == nil, column.limit == nil, column.collation == .bytes,
            subqueries.visibility?.records.database != .union,
            case .field(let field, _) = column.place, root.indexes.contains(where: { $0.hasElements(of: field) }),
            let records = elements.records, records.idCollation.equatesByBytes, let inner = inner(records.number),
            inner.asksForFew(elements.predicate)
        else { return nil }
        return """
            \(stored(column)) && ARRAY(SELECT \(inner.alias(nil))."_id" \(inner.source(records.joins)) \
            AND (\(inner.matches(elements.predicate))))
            """
    }

    /// Whether a predicate holds for few records, since it compares a unique column with few values.
    private func asksForFew(_ predicate: ResolvedPredicate) -> Bool {
        switch predicate {
        case .and(let parts): return parts.contains { asksForFew($0) }
        case .or(let parts): return parts.allSatisfy { asksForFew($0) }
        case .comparison(let column, .equal, _): return isUnique(column)
        case .isOneOf(let column, let list): return list.count <= Self.fewValues && isUnique(column)
        case .hasID(let column, let ids):
            guard case .id = column.kind else { return false }
            return column.join == nil && ids.count <= Self.fewValues
        default: return false
        }
    }

    private static let fewValues = 100

    private func isUnique(_ column: ResolvedColumn) -> Bool {
        guard column.join == nil, column.reading == .stored, !column.folds else { return false }
        return root.indexes.contains { $0.isUnique(identifier(column).name) }
    }

    /// `NOT EXISTS (SELECT FROM unnest("r"."labels") AS "e1" ("value") WHERE (<predicate>) IS NOT TRUE)`
    func all(_ elements: ResolvedElements) -> SQL {
        guard let records = elements.records else {
            return "NOT EXISTS (SELECT \(values(elements)) WHERE (\(condition(elements.predicate))) IS NOT TRUE)"
        }
        guard let inner = inner(records.number) else { return "true" }
        return """
            NOT EXISTS (SELECT \(inner.source(records, in: elements.column, of: self)) \
            AND (\(inner.condition(elements.predicate))) IS NOT TRUE)
            """
    }

    /// The elements of an array as rows; a JSON value that is not an array has none.
    private func values(_ elements: ResolvedElements) -> SQL {
        let array = value(elements.column)
        let alias = Self.elementAliases[elements.depth - 1]
        guard case .array = elements.column.kind else {
            return """
                FROM jsonb_array_elements(CASE WHEN jsonb_typeof(\(array)) = 'array' THEN \(array) END) \
                AS \(alias) (\(Self.elementColumn))
                """
        }
        return "FROM unnest(\(array)) AS \(alias) (\(Self.elementColumn))"
    }

    /// The records whose ids are in an array; the primary key finds them.
    private func source(_ records: ResolvedElements.Records, in column: ResolvedColumn, of outer: QueryText) -> SQL {
        if case .relation = column.kind { return source(members: column, records.joins, of: outer) }
        return
            "\(source(records.joins)) AND \(alias(nil)).\"_id\" = ANY(\(outer.key(column, ofIDsIn: records.idCollation)))"
    }

    static let elementColumn: SQLIdentifier = "value"
    private static let elementAliases: [SQLIdentifier] = ["e1", "e2", "e3", "e4"]

    /// `"e1"."value"`: an element of an array at a nesting depth.
    static func element(atDepth depth: Int) -> SQL {
        "\(elementAliases[depth - 1]).\(elementColumn)"
    }
}
