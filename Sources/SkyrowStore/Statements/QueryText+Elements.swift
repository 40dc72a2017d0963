internal import SkyrowModel
internal import SkyrowPostgres
internal import SkyrowQuery

// What is asked of elements one by one. `EXISTS` is never NULL, so neither is any of it.

extension QueryText {
    /// `EXISTS (SELECT FROM unnest("r"."labels") AS "e1" ("value") WHERE <predicate>)`
    func any(_ elements: ResolvedElements) -> SQL {
        guard let records = elements.records else {
            return "EXISTS (SELECT \(values(elements)) WHERE \(matches(elements.predicate)))"
        }
        guard let inner = inner(records.number) else { return "false" }
        return
            "EXISTS (SELECT \(inner.source(records, in: elements.column, of: self)) AND (\(inner.matches(elements.predicate))))"
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

    /// The elements of an array as rows; a value that is no array has none.
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

    /// The records whose ids an array has, which the primary key finds.
    private func source(_ records: ResolvedElements.Records, in column: ResolvedColumn, of outer: QueryText) -> SQL {
        "\(source(records.joins)) AND \(alias(nil)).\"_id\" = ANY(\(outer.key(column, ofIDsIn: records.idCollation)))"
    }

    static let elementColumn: SQLIdentifier = "value"
    private static let elementAliases: [SQLIdentifier] = ["e1", "e2", "e3", "e4"]

    /// `"e1"."value"`: an element of an array, this many arrays deep.
    static func element(atDepth depth: Int) -> SQL {
        "\(elementAliases[depth - 1]).\(elementColumn)"
    }
}
